# SPDX-License-Identifier: Apache-2.0

"""Runs all samples through all layers; each layer's process starts once.

*stacks* are the requests to Heat, by a name for each; *seen* are the results
of Nova for their servers, by the same names.
"""

import dataclasses
import functools
from pathlib import Path
import tempfile
from typing import Any
import unittest

import yaml

from tacker_rt.package import legacy
from tacker_rt.package import pack
from tacker_rt import translate
from tests.functional.tacker import layers
from tests.functional.tacker import samples
from tests.functional.tacker import userdata

Case = dict[str, Any]


@dataclasses.dataclass
class Results:
    csars: dict[str, Path]
    packages: dict[str, Case]
    stacks: dict[str, Case]
    seen: dict[str, list[Any]]


@functools.cache
def results() -> Results:
    """Runs once in each process, and keeps the files for the module."""
    directory = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(directory.cleanup)
    csars = _csars(Path(directory.name))
    packages = _on_board(csars, Path(directory.name))
    stacks = {**_legacy(), **_v1(packages), **_v2(packages)}
    everything = {**stacks, **_controls(packages, stacks)}
    return Results(csars, packages, stacks, _seen(everything))


def _csars(directory: Path) -> dict[str, Path]:
    made = {name: pack.directory(samples.SAMPLES / source)
            for name, source in samples.PACKAGES.items()}
    for name in samples.PACKAGED:
        made[f'legacy-{name}'] = legacy.members(
            samples.legacy(name), image=samples.IMAGE)
    paths = {name: directory / f'{name}.csar' for name in made}
    for name, path in paths.items():
        pack.write(made[name], path)
    return paths


def _on_board(csars: dict[str, Path], directory: Path) -> dict[str, Case]:
    found = layers.run('onboard', [
        {'name': name, 'csar': str(path), 'directory': str(directory)}
        for name, path in csars.items()])
    return dict(zip(csars, found, strict=True))


def _legacy() -> dict[str, Case]:
    stacks = {}
    for name in samples.LEGACY:
        hot = translate.translate(samples.legacy(name), image=samples.IMAGE)
        stacks[name] = {'template': yaml.safe_dump(hot[translate.MAIN]),
                        'files': {}, 'parameters': {}}
    stacks['inputs, given'] = {**stacks['inputs'],
                               'parameters': {'rt_runtime_us': 12345}}
    return stacks


def _v1(packages: dict[str, Case]) -> dict[str, Case]:
    place = {'root': packages['v1-tosca']['root'], 'flavour': 'simple'}
    translated = layers.run('v1_translate', [place])
    given = layers.run('v1_userdata', [
        {'root': packages['v1-userdata']['root'], 'flavour': 'simple',
         'request': samples.request('v1-userdata', 'instantiate')}])
    return {'v1-tosca': {**translated[0], 'parameters': {}},
            'v1-userdata': given[0]}


def _v2(packages: dict[str, Case]) -> dict[str, Case]:
    """Returns each step of the life of each v2 sample."""
    stacks = {}
    for sample, package, count, steps in samples.LIVES:
        vnf = userdata.Vnf(packages[package], samples.vdu(package))
        for number, step in enumerate(steps):
            request = samples.request(sample, step)
            if number == 0:
                vnf.instantiate(request, count)
            elif step == 'change':
                vnf.change_package(request, packages['after'])
            else:
                getattr(vnf, step.partition('-')[0])(request)
            stacks[f'{package}: {step}'] = vnf.heat_case()
        if steps[-1] == 'change':
            vnf.roll_back_package(request)
            stacks[f'{package}: back'] = vnf.heat_case()
    return stacks


def _controls(packages: dict[str, Case], stacks: dict[str, Case]
              ) -> dict[str, Case]:
    """Returns cases that must fail: Tacker's user data, an unknown key."""
    request = samples.request('sol001-hints', 'instantiate')
    del request['additionalParams']
    vnf = userdata.Vnf(packages['sol001-hints'])
    vnf.instantiate(request)
    made = stacks['sol001-made-flavor: instantiate']
    return {'without our user data': vnf.heat_case(),
            'with a key of nobody': {**made, 'template': made[
                'template'].replace('rt_runtime_us:', 'rt_runtime_ms:')}}


def _seen(stacks: dict[str, Case]) -> dict[str, list[Any]]:
    """Returns each stack's server names and Nova's results for them."""
    made = layers.run('heat_bodies', list(stacks.values()))
    wanted = [{'body': server['body'], 'extra_specs': _extra_specs(server)}
              for stack in made if isinstance(stack, list)
              for server in stack]
    answers = iter(layers.run('nova_accepts', wanted))
    return {name: [(server['name'], next(answers)) for server in stack]
            if isinstance(stack, list) else stack
            for name, stack in zip(stacks, made, strict=True)}


def _extra_specs(server: Case) -> Case:
    if server['flavor']:
        return server['flavor']['extra_specs'] or {}
    return samples.FLAVORS.get(server['body']['server']['flavorRef'], {})
