# SPDX-License-Identifier: Apache-2.0

"""Measures what a reservation adds to the start of a server.

usage: tools/cloud.sh up; .venv/bin/python benchmarks/start.py [rounds]

Servers with and without a reservation start in turns on the embedded cloud
(default 15 of each).  The time is that of the virt driver's spawn, from Nova's
log.  Exits with 1 if the medians differ by more than 20 ms.
"""

import pathlib
import re
import statistics
import sys
import time
from typing import Any

import openstack

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'tools'))
from cloud import settings  # noqa: E402

LIMIT_MS = 20
RESERVATION = {'hw:cpu.rt_runtime_us': '20000',
               'hw:cpu.rt_period_us': '100000'}
KINDS = {'plain': {}, 'reserved': RESERVATION}


def connect(cloud: settings.Settings) -> Any:
    """Returns a connection to the cloud."""
    return openstack.connection.Connection(
        auth={'auth_url': cloud.auth_url, 'username': 'admin',
              'password': settings.PASSWORD, 'project_name': 'admin',
              'user_domain_name': 'Default',
              'project_domain_name': 'Default'},
        region_name=settings.REGION, compute_api_version='2.96')


def start(compute: Any, image: str, flavor: Any) -> str:
    """Starts and deletes a server; returns its id."""
    server = compute.create_server(
        name='start', flavor_id=flavor.id, image_id=image, networks='none')
    compute.wait_for_server(server, wait=60, interval=0.3)
    compute.delete_server(server)
    compute.wait_for_delete(server, wait=60, interval=0.3)
    return str(server.id)


def spawn_ms(log: str, server: str) -> float:
    """Returns the ms from "Start spawning" to "spawned successfully"."""
    def at(text: str) -> float:
        match = re.search(r'^\S+ (\d+):(\d+):(\d+\.\d+) .*'
                          + re.escape(server) + '.*' + text, log, re.M)
        if match is None:
            raise LookupError(f'{server}: the log has no "{text}"')
        hours, minutes, seconds = map(float, match.groups())
        return 1000 * (3600 * hours + 60 * minutes + seconds)
    return at('spawned successfully') - at('Start spawning')


def main() -> int:
    """Runs all rounds and returns the exit status."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    cloud = settings.load()
    connection = connect(cloud)
    image = connection.image.find_image('lxc-busybox').id
    compute = connection.compute
    flavors = {}
    for kind, specs in KINDS.items():
        flavors[kind] = compute.create_flavor(
            name=f'start-{kind}-{time.time()}', ram=64, vcpus=1, disk=0)
        compute.create_flavor_extra_specs(flavors[kind], specs)
    servers = [(kind, start(compute, image, flavors[kind]))
               for _ in range(rounds) for kind in KINDS]
    for flavor in flavors.values():
        compute.delete_flavor(flavor)
    log = cloud.log_file('nova').read_text(errors='replace')
    times = {kind: [spawn_ms(log, server) for its, server in servers
                    if its == kind] for kind in KINDS}
    for kind, values in times.items():
        print(f'{kind:9} median {statistics.median(values):7.1f} ms  '
              f'min {min(values):7.1f}  max {max(values):7.1f}')
    added = (statistics.median(times['reserved'])
             - statistics.median(times['plain']))
    met = added <= LIMIT_MS
    print(f'{"met   " if met else "MISSED"} added to a start: {added:.1f} '
          f'ms, at most {LIMIT_MS}')
    return 0 if met else 1


if __name__ == '__main__':
    sys.exit(main())
