# SPDX-License-Identifier: Apache-2.0

"""Shows which parts of the full cloud run, and the memory that they use."""

import contextlib

import libvirt

from cloud import computes
from cloud.full import services
from cloud import guests
from cloud import processes
from cloud import settings


def show(cloud: settings.Settings) -> bool:
    """Prints a line for each process; returns whether all of them run."""
    total = 0
    for service in services.all_services(cloud):
        pid = service.pid(cloud)
        kib = sum(map(processes.memory_kib, service.members(cloud)))
        total += kib
        url = cloud.url(service.api) if service.api else ''
        print(f'{service.name:18} {f"pid {pid}" if pid else "down":12} '
              f'{kib // 1024:5} MiB  {url}'.rstrip())
    for node in cloud.nodes:
        names = _domains(cloud, node)
        print(f'guests {node.name:11} {len(names)} {" ".join(names)}'.rstrip())
    print(f'memory             {total // 1024} MiB (sum of PSS)')
    return all(service.pid(cloud) for service in services.all_services(cloud))


def _domains(cloud: settings.Settings, node: computes.Node) -> list[str]:
    try:
        path = services.libvirt_socket(cloud, node.name)
        connection = libvirt.openReadOnly(
            f'{guests.KINDS[node.guest].daemon}+unix:///system?socket={path}')
    except (LookupError, libvirt.libvirtError):
        return []
    with contextlib.closing(connection):
        return sorted(domain.name() for domain in connection.listAllDomains())
