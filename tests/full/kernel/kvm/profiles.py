# SPDX-License-Identifier: Apache-2.0

"""The flavors of the page on high-performance flavors, through Nova.

Starts the embedded cloud with KVM on a host with NUMA cells and huge pages,
creates servers with the flavors of the page, and looks at what the kernel has
for them: the cell of their huge pages, where each thread may run, policies,
and shares beside busy tasks.  Runtimes and periods are ten times as long as
those of the page.  With --sriov, HS has a virtual function.  As root, in the
lab, whose CPUs are emulated::

    tools/lab.sh debian:13 --kvm --cpus 6 --cells 2 --pages 96 \\
        --memory 5120 --icount --sriov --timeout 3000 profiles
"""

import argparse
from collections.abc import Collection, Iterator
import contextlib
import dataclasses
import json
import os
import pathlib
import platform
import re
import sys
import traceback
from typing import Any

from cloud import sdk
from cloud import settings

from demo import host as hosts_of_nova
from openstack import exceptions

from nova_rt.machine.host import nodes
from nova_rt.machine.host import sched
from nova_rt.rules import cpulist
from nova_rt.services.compute import claims
from tests.cloud import base
from tests import flavors
from tests.full.kernel.kvm import devices
from tests.full.kernel.kvm import guest as guests
from tests.full.kernel.kvm import host as hosts
from tests.full.kernel import pinned

_RUN = pathlib.Path('/run/libvirt/qemu')
_NODES = pathlib.Path('/sys/devices/system/node')
_FILTERS = ('ComputeFilter', 'ComputeCapabilitiesFilter',
            'ImagePropertiesFilter', 'NUMATopologyFilter', 'RTShareFilter')
_PATIENCE = settings.patience(60)
_IMAGE = 'kvm-busy'
#: The name of a virtual function in Nova's flavors.
_ALIAS = 'lab-function'
#: the factor between runtimes and periods here and those of the page
_LONGER = 10
#: A server without cells of its own, which takes a pCPU of the first cell.
_PLAIN = flavors.Flavor(1, 96, 1, {'hw:cpu.rt_runtime_us': '50000',
                                   'hw:cpu.rt_period_us': '100000'})


class Server(guests.Guest):
    """A server of Nova, as a guest of this machine."""

    def __init__(self, name: str, flavor: flavors.Flavor,
                 found: hosts_of_nova.Server) -> None:
        assert found.claim is not None
        domain = re.search(r'(nova-rt-[0-9a-f]{8})', found.group)
        assert domain is not None, found.group
        self.name = name
        self.flavor = flavor
        self.claim: claims.RTClaim = found.claim
        self.pid = int((_RUN / f'{domain[1]}.pid').read_text())
        self.groups = guests.groups_of(self.pid)
        self._cpusets = found.below('cpuset') / found.group

    def resume(self) -> None:
        """Does nothing: Nova has started the guest."""

    def end(self) -> None:
        """Nova does it."""

    @property
    def reserved(self) -> list[int]:
        """The threads of the vCPUs with the reservation."""
        return [thread for number, thread in enumerate(self.vcpus)
                if number in self.claim.by_vcpu]

    def cpuset(self, name: str) -> set[int]:
        """Returns the CPUs of one of the groups that libvirt made."""
        return set(cpulist.parse_ids(
            (self._cpusets / name / 'cpuset.cpus').read_text()))

    def iothreads(self) -> list[str]:
        """The groups of its I/O threads."""
        return [path.name for path in self._cpusets.glob('iothread*')]


class Host:
    """This machine with the cloud on it.

    :ivar spare: the first CPU of each cell, which reservations do not use
    :ivar shares: (what, wanted, found)
    """

    def __init__(self, tolerance: float, seconds: float) -> None:
        self.cells = [frozenset(cell) for cell in nodes.cells()]
        pinned.expect(len(self.cells) > 1 and min(map(
            len, self.cells)) > 2, f'needs cells of three CPUs: {self.cells}')
        self.spare = frozenset(map(min, self.cells))
        self.cpus = sorted(frozenset().union(*self.cells) - self.spare)
        self.tolerance = tolerance
        self._seconds = seconds
        self.shares: list[tuple[str, float, float]] = []
        self.found: dict[str, Any] = {}
        self._cloud: Any = None

    @contextlib.contextmanager
    def cloud(self) -> Iterator[None]:
        """Runs the embedded cloud."""
        every = sorted(self.spare.union(self.cpus))
        options = [
            f'filter_scheduler.enabled_filters={",".join(_FILTERS)}',
            f'compute.cpu_shared_set={cpulist.format_ids(every)}',
            f'nova_rt.rt_cpus={cpulist.format_ids(self.cpus)}',
            *_device_options()]
        base.cloud('up', '--guest', 'kvm',
                   *(f'--set={one}' for one in options))
        try:
            self._cloud = sdk.connect(
                settings.load(), compute_api_version='2.96')
            yield
        finally:
            base.cloud('down', '--keep-logs')

    @contextlib.contextmanager
    def server(self, name: str, flavor: flavors.Flavor) -> Iterator[Server]:
        """Creates a server; returns its guest once the server runs."""
        compute = self._cloud.compute
        made = compute.create_flavor(name=name, ram=flavor.ram,
                                     vcpus=flavor.vcpus, disk=flavor.disk)
        compute.create_flavor_extra_specs(made, flavor.specs)
        server = compute.create_server(
            name=name, flavor_id=made.id, networks='none',
            image_id=self._cloud.image.find_image(_IMAGE).id)
        try:
            self._wait(server)
            found, = (each for each in hosts_of_nova.servers(settings.load())
                      if each.name == name)
            yield Server(name, flavor, found)
        finally:
            compute.delete_server(server)
            compute.wait_for_delete(server, wait=_PATIENCE, interval=1)

    def _wait(self, server: Any) -> None:
        try:
            self._cloud.compute.wait_for_server(server, wait=_PATIENCE,
                                                interval=1)
        except exceptions.SDKException as error:
            fault = self._cloud.compute.get_server(server).fault
            raise pinned.Wrong(f'{server.name}: {error}: {fault}') from error

    def look(self, server: Server, cell: int) -> None:
        """Checks memory, CPUs and policies of a server in a cell."""
        pages = server.huge_pages()
        cpus = {group: sorted(server.cpuset(group)) for group in (
            'emulator', *server.iothreads(), *(
                f'vcpu{number}' for number in range(server.flavor.vcpus)))}
        self.found[server.name] = {
            'claim': server.claim.by_vcpu, 'pages': pages, 'cpusets': cpus}
        print(server.name, self.found[server.name], file=sys.stderr,
              flush=True)
        _same('the huge pages on each cell', pages, {
            cell: server.flavor.ram * 1024 // guests.PAGE_KIB})
        self._look_at_cpus(server, self.cells[cell], cpus)
        for number, thread in enumerate(server.vcpus):
            wanted = (sched.SCHED_DEADLINE if number in server.claim.by_vcpu
                      else os.SCHED_OTHER)
            policy = (os.sched_getscheduler(thread)
                      & ~os.SCHED_RESET_ON_FORK)
            _same(f'the policy of vCPU {number}', policy, wanted)

    def _look_at_cpus(self, server: Server, cell: Collection[int],
                      cpus: dict[str, list[int]]) -> None:
        spare = sorted(self.spare.intersection(cell))
        for group, found in cpus.items():
            number = int(group.removeprefix('vcpu')) if group.startswith(
                'vcpu') else None
            cpu = server.claim.by_vcpu.get(number)  # type: ignore[arg-type]
            if cpu is None:
                _same(f'the CPUs of {group}', found, spare)
            else:
                _same(f'the CPUs of {group}', found, [cpu])
                pinned.expect(cpu in cell, f'{group} is outside the cell')
        for thread, name in server.threads().items():
            affinity = guests.affinity(thread)
            pinned.expect(affinity <= set(cell) or not affinity,
                          f'{name} may run on {sorted(affinity)}')

    def look_at_device(self, server: Server, cell: int) -> None:
        """Checks that the server has one virtual function, in a cell."""
        given = [function for function in devices.functions()
                 if devices.driver(function) == devices.DRIVER]
        self.found[f'{server.name}, device'] = {
            'functions': {function.name: devices.cell(function)
                          for function in given},
            'groups': devices.vfio_groups(server.pid)}
        _same('the cells of its functions',
              list(map(devices.cell, given)), [cell])
        pinned.expect(bool(devices.vfio_groups(server.pid)),
                      'QEMU has no group of VFIO open')

    def check(self, *servers: Server) -> None:
        """Measures the shares of these servers at the same time."""
        vcpus = [(server, thread) for server in servers
                 for thread in server.reserved]
        threads = [thread for _, thread in vcpus]
        hosts.wait_until_busy(threads)
        with hosts.noise(self.cpus):
            shares = hosts.measure(threads, self._seconds)
        for (server, _), share in zip(vcpus, shares, strict=True):
            wanted = server.claim.reservation.share
            self.shares.append((server.name, wanted, share))
            print(self.shares[-1], file=sys.stderr, flush=True)
        for name, wanted, share in self.shares[-len(vcpus):]:
            pinned.expect(abs(share - wanted) <= self.tolerance,
                          f'{name}: {share} instead of {wanted}')


def _same(name: str, found: object, wanted: object) -> None:
    pinned.expect(found == wanted, f'{name}: {found} instead of {wanted}')


def longer(flavor: flavors.Flavor) -> flavors.Flavor:
    """Returns a flavor with the same share and a period that is longer.

    Emulated CPUs take turns, so that their timers are late by some 0.4 ms in
    each period.
    """
    return dataclasses.replace(flavor, specs={
        name: str(int(value) * _LONGER) if name.endswith('_us') else value
        for name, value in flavor.specs.items()})


def run(host: Host) -> None:
    """Tests all profiles: HV beside a server without cells, HD, then HS."""
    page = {name: longer(each) for name, each in flavors.read().items()}
    with contextlib.ExitStack() as stack:
        with host.server('plain', _PLAIN) as plain:
            _same('the pCPU of the first server',
                  set(plain.claim.cpus) <= host.cells[0], True)
            # Nova alone would take the first cell, which has only one pCPU
            # left.
            virtio = stack.enter_context(
                host.server('hv.rt', page['hv.rt']))
            host.look(virtio, 1)
            host.check(virtio)
        planes = stack.enter_context(host.server('hd.rt', page['hd.rt']))
        host.look(planes, 0)
        host.check(virtio, planes)
    _run_with_device(host, page['hs.rt'])
    _same('what the kernel still holds', hosts_of_nova.budgets(), 0)
    _same('free huge pages', _free(), _free('nr'))


def _run_with_device(host: Host, flavor: flavors.Flavor) -> None:
    """Tests HS, with a virtual function if this machine has one."""
    cell = 0
    if functions := devices.functions():
        cell = devices.cell(functions[0])
        flavor = dataclasses.replace(flavor, specs={
            **flavor.specs, 'pci_passthrough:alias': f'{_ALIAS}:1'})
    with host.server('hs.rt', flavor) as device:
        host.look(device, cell)
        if functions:
            host.look_at_device(device, cell)
        host.check(device)


def _device_options() -> list[str]:
    """Returns Nova's options for the virtual functions of this machine."""
    if not (functions := devices.functions()):
        return []
    vendor, product = (
        (functions[0] / name).read_text().strip().removeprefix('0x')
        for name in ('vendor', 'device'))
    spec = {'vendor_id': vendor, 'product_id': product}
    alias = {**spec, 'name': _ALIAS, 'device_type': 'type-VF'}
    return [f'pci.device_spec={json.dumps(spec)}',
            f'pci.alias={json.dumps(alias)}']


def _free(kind: str = 'free') -> list[int]:
    return [int(path.read_text()) for path in sorted(_NODES.glob(
        f'node*/hugepages/hugepages-{guests.PAGE_KIB}kB/{kind}_hugepages'))]


def main() -> int:
    """Runs all tests, prints the results, and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog='python -m tests.full.kernel.kvm.profiles')
    parser.add_argument('--tolerance', type=float, default=0.02,
                        help='of a share (default: %(default)s of a CPU)')
    parser.add_argument('--seconds', type=float, default=8,
                        help='for one share (default: %(default)s)')
    args = parser.parse_args()
    host = Host(args.tolerance, args.seconds)
    problem = ''
    try:
        with host.cloud():
            run(host)
    except Exception as error:
        traceback.print_exc()
        problem = f'{type(error).__name__}: {error}'
    worst = max((abs(share - wanted) for _, wanted, share in host.shares),
                default=0.0)
    print(json.dumps({
        'release': platform.release(), 'cells': len(host.cells),
        'shares': host.shares, 'worst': round(worst, 4),
        'found': host.found, 'problem': problem}, indent=1))
    return 1 if problem else 0


if __name__ == '__main__':
    sys.exit(main())
