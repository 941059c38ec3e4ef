# SPDX-License-Identifier: Apache-2.0

"""Runs our tests for Tempest in a workspace made for the full cloud.

Usage: ``python tools/tempest_run.py [arguments of "tempest run"]``
"""

from collections.abc import Iterator, Sequence
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

from cloud import computes
from cloud import config
from cloud.full import lifecycle
from cloud import main as cloud_main
from cloud import settings
from demo import package
from demo import tacker
import openstack

IMAGE = 'lxc-busybox'
PAIR_IMAGE = f'{computes.PAIR[0].guest}-idle'
VNF = 'sol001-hints'
# The reservation of the sample would leave no room for other tests.
VNF_RUNTIME_US = 20_000
VNF_BANDWIDTH = 200_000
TESTS = '^nova_rt_tempest_plugin'
# Nova uses the host again only after its nova-compute is restarted.
LAST = 'test_evacuate'


def main(arguments: Sequence[str]) -> int:
    """Runs the tests, and returns the exit status."""
    cloud = settings.load()
    if not cloud.full or lifecycle.missing(cloud):
        print('tempest.sh: the full cloud is not up: tools/cloud.sh up '
              '--full', file=sys.stderr)
        return cloud_main.NOT_RUNNING
    os.environ.update(cloud_main.environment(cloud))
    with openstack.connect() as connection, _flavor(connection) as flavor:
        image = connection.image.find_image(
            PAIR_IMAGE if cloud.pair else IMAGE, ignore_missing=False)
        workspace = _workspace(cloud, {'image': image.id, 'flavor': flavor})
        return max(subprocess.run(
            ['tempest', 'run', *chosen, *arguments], cwd=workspace,
            env=cloud.environment()).returncode
            for chosen in _runs(cloud, arguments))


def _runs(cloud: settings.Settings, arguments: Sequence[str]
          ) -> list[list[str]]:
    """Returns the runs of tests; tests that disable a host come last."""
    if not cloud.pair or '--regex' in arguments:
        return [['--regex', TESTS]]
    return [['--regex', TESTS, '--exclude-regex', LAST], ['--regex', LAST]]


@contextlib.contextmanager
def _flavor(connection: openstack.connection.Connection) -> Iterator[str]:
    """Returns the id of the flavor of the sample, which serves all tests."""
    made = connection.compute.create_flavor(
        name=package.FLAVOR, ram=96, vcpus=1, disk=1)
    try:
        yield made.id
    finally:
        connection.compute.delete_flavor(made)


def _workspace(cloud: settings.Settings, values: dict[str, str]
               ) -> pathlib.Path:
    etc, workspace = cloud.etc / 'tempest', cloud.directory / 'tempest'
    for directory in (etc, workspace):
        shutil.rmtree(directory, ignore_errors=True)
    etc.mkdir()
    config.render_tempest(cloud, etc / 'tempest.conf', {
        **values, 'alike': '2' if cloud.pair else '1',
        'two_alike': str(cloud.pair),
        'vnf': '' if cloud.pair else _vnf(cloud, etc)})
    # Tempest would keep its list of workspaces in the home directory.
    subprocess.run(
        ['tempest', 'init', '--config-dir', etc, '--workspace-path',
         etc / 'workspaces.yaml', workspace], check=True,
        stdout=subprocess.DEVNULL)
    return workspace


def _vnf(cloud: settings.Settings, etc: pathlib.Path) -> str:
    """Makes the VNF package and returns its options for tempest.conf."""
    vnf, request = etc / 'vnf.csar', etc / 'request.json'
    vnf.write_bytes(package.packed(VNF))
    request.write_text(json.dumps(_request(cloud)))
    return (f'vnf_package = {vnf}\nvnf_request = {request}\n'
            f'vnf_bandwidth = {VNF_BANDWIDTH}')


def _request(cloud: settings.Settings) -> dict[str, object]:
    request = package.request(VNF, 'instantiate')
    request['additionalParams']['nfv'] = {
        'VDU': {'VDU1': {'cpu.rt_runtime_us': VNF_RUNTIME_US}}}
    vim = tacker.Tacker(cloud, patience=0).vim()
    return {**request, 'vimConnectionInfo': {'vim1': vim}}


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
