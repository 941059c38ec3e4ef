# SPDX-License-Identifier: Apache-2.0

"""Runs with one version: publishes, or reads what a version published.

usage: worker.py publish | read | takes < what "publish" printed

The names of modules are those of all versions since 17c51cb, so this file
imports nothing of the tests.
"""

from collections.abc import Callable
import contextlib
import dataclasses
import importlib
import json
import pathlib
import sys
import types
from typing import Any

# An editable installation would add modules of this tree to a package of
# another version that does not have them.
sys.meta_path[:] = [finder for finder in sys.meta_path
                    if 'Editable' not in getattr(finder, '__name__', '')]

_SERVER = 'f70a4f8c-93b4-41c8-9430-162f44417eb0'


def _module(*names: str) -> Any:
    """Returns the first of these modules that the version has.

    :raises ImportError: when Python has found the module of another version
    """
    for name in names[:-1]:
        with contextlib.suppress(ModuleNotFoundError):
            found = importlib.import_module(name)
            break
    else:
        found = importlib.import_module(names[-1])
    if not pathlib.Path(found.__file__ or '').is_relative_to(
            pathlib.Path.cwd()):
        raise ImportError(f'{found.__file__} is not of this version')
    return found


cpus = _module('nova_rt.rules.cpus', 'nova_rt.cpus')
hostmap = _module('nova_rt.rules.hostmap', 'nova_rt.hostmap')
reservation = _module('nova_rt.rules.reservation', 'nova_rt.reservation')
schedulability = _module('nova_rt.rules.schedulability',
                         'nova_rt.schedulability')
claims = _module('nova_rt.services.compute.claims', 'nova_rt.compute.claims')
request = _module('nova_rt.services.compute.request',
                  'nova_rt.compute.request')


class _Server:
    """The part of Nova's Instance that notes of hints need."""

    def __init__(self, notes: dict[str, str]) -> None:
        self.uuid = _SERVER
        self.system_metadata = notes


def _maps() -> dict[str, Any]:
    one = reservation.Reservation(30_000, 100_000)
    two = reservation.Reservation(9_500, 10_000)
    empty = cpus.CpuBandwidth.empty((0, 1, 4), 950_000, min_runtime_us=1000)
    fixed = cpus.CpuBandwidth.empty(
        (0, 1), 950_000, rule=schedulability.FixedPriorities(
            48, 4000, 10_000))
    stranger = hostmap.Stranger(_SERVER, 'instance-00000001',
                                (((0, 1), one),), 'on host1')
    pool = cpus.CpuBandwidth((1, 3), 950_000, (0, 500_000), 500_000, True)
    release = {'release': _release()} if any(
        field.name == 'release'
        for field in dataclasses.fields(hostmap.HostMap)) else {}
    return {name: hostmap.HostMap(state, 'worst_fit', strangers, **release)
            for name, state, strangers in (
                ('empty', empty, ()), ('claimed', empty.claim((0, 4), one),
                                       (stranger,)),
                ('full', empty.claim((0, 1, 4), two), ()),
                ('pool', pool, ()), ('fixed', fixed.claim((1,), one), ()))}


def _release() -> str:
    return str(importlib.import_module('nova_rt.version').get())


def _claims() -> list[str]:
    one = reservation.Reservation(30_000, 100_000)
    return [claims.RTClaim(_SERVER, move, one, places, hints).identifier
            for move, places, hints in (
                (0, (1,), {}), (7, (0, 1, 4), {'cpu.rt_runtime_us': 30_000}),
                (8, (2,), dict(zip(reservation.KEYS, (30_000, 100_000),
                                   strict=True))))]


def _notes() -> dict[str, str]:
    server = _Server({})
    request.note_hints(server, {
        f'{reservation.HINT_PREFIX}rt_runtime_us': '20000',
        f'{reservation.HINT_PREFIX}rt_period_us': '100000', 'group': 'x'})
    return server.system_metadata


def publish() -> dict[str, Any]:
    """Everything that leaves a process of this version."""
    return {'maps': {name: hostmap.to_stats(each)
                     for name, each in _maps().items()},
            'inventories': {name: hostmap.inventories(
                each.state, each.strangers)
                for name, each in _maps().items()},
            'claims': _claims(), 'notes': _notes(), 'masked': _masked()}


def _masked() -> str | None:
    """A claim with an ordinary vCPU, if this version knows such claims."""
    if not any(field.name == 'unreserved'
               for field in dataclasses.fields(claims.RTClaim)):
        return None
    return str(claims.RTClaim(
        _SERVER, 9, reservation.Reservation(30_000, 100_000), (1, 2),
        unreserved=(0,)).identifier)


def _readable(read: Callable[[], Any]) -> str:
    """Returns what was read, for a comparison; an error as such."""
    try:
        return repr(read())
    except Exception as error:
        return f'{type(error).__name__}: {error}'


def read(published: dict[str, Any]) -> dict[str, Any]:
    """Returns what this version reads; names of classes are not compared."""
    return {
        'maps': {name: _map(stats)
                 for name, stats in published['maps'].items()},
        'inventories': published['inventories'],
        'claims': [_readable(lambda text=text: dataclasses.astuple(
            claims.RTClaim.parse(text))) for text in published['claims']],
        'notes': _readable(lambda: _read_note(
            _Server(dict(published['notes'])),
            types.SimpleNamespace(id=1)))}


def takes(published: dict[str, Any]) -> dict[str, Any]:
    """Returns what this version sends to hosts with these maps.

    A host that names nothing in its map gets no server with NUMA cells or a
    mask.  A masked claim must be refused whole, or read with its mask.
    """
    maps = map(hostmap.from_stats, published['maps'].values())
    return {
        'cells and masks for the host': sorted(
            {name for each in maps for name in getattr(each, 'takes', ())}),
        'masked claim': published['masked'] and _readable(
            lambda: claims.RTClaim.parse(published['masked']).unreserved)}


def _read_note(server: Any, flavor: Any) -> Any:
    """Reads a note by the function of this version, old or new."""
    read = getattr(request, 'read_note', None) or request.of_note
    return read(server, flavor)


def _map(stats: dict[str, str]) -> str:
    found = hostmap.from_stats(stats)
    if found is None:
        return 'unreadable'
    values = dataclasses.asdict(found)
    values.pop('release', None)
    return repr(values)


if __name__ == '__main__':
    if sys.argv[1] == 'publish':
        print(json.dumps(publish()))
    else:
        print(json.dumps({'read': read, 'takes': takes}[sys.argv[1]](
            json.load(sys.stdin))))
