# SPDX-License-Identifier: Apache-2.0

"""Guests as domains of a separate libvirtd."""

import itertools
import pathlib
from typing import Self

import libvirt

from nova_rt.services.virt.libvirt import pinning
from tests.full.kernel import domains
from tests.full.kernel.kvm import guest
from tests.full.kernel.kvm import host as hosts
from tests.full.kernel.kvm import rom

_RUN = pathlib.Path('/run/libvirt/qemu')
#: The memory of a guest.
RAM_MIB = 16
# A domain as Nova defines it: a thread for I/O, and pins to the shared CPUs.
_XML = """<domain type='{kind}' xmlns:qemu='{schema}'><name>{name}</name>
<memory unit='MiB'>{ram}</memory>{memory}
<vcpu>{vcpus}</vcpu><iothreads>1</iothreads><cputune>{pins}</cputune>
<os><type arch='x86_64' machine='pc'>hvm</type>
<loader type='rom'>{rom}</loader></os>
<features><acpi/><apic/></features>
{cpu}
<devices>
<interface type='ethernet'><model type='virtio'/><driver name='vhost'/>
</interface>{devices}<memballoon model='none'/></devices>
<qemu:commandline><qemu:arg value='-qmp'/>
<qemu:arg value='unix:{monitor},server=on,wait=off'/></qemu:commandline>
</domain>"""
#: The words of QEMU's command line in a domain: a monitor beside libvirt's.
_SCHEMA = 'http://libvirt.org/schemas/domain/qemu/1.0'


_CELL = "<numatune><memory mode='strict' nodeset='{}'/></numatune>"
_HUGE = '<memoryBacking><hugepages/></memoryBacking>'
_PAGES = pathlib.Path('/proc/sys/vm/nr_hugepages')
# libvirt's name of an accelerator, and the CPU of its guests.
_KINDS = {'kvm': ('kvm', "<cpu mode='host-passthrough' check='none'/>"),
          'tcg': ('qemu', '')}


class Domain(guest.Guest):
    """One domain.

    :ivar monitor: the socket of a monitor of its own
    """

    def __init__(self, domain: libvirt.virDomain, monitor: pathlib.Path
                 ) -> None:
        self._domain, self.monitor = domain, monitor
        self.pid = int((_RUN / f'{domain.name()}.pid').read_text())
        self.groups = guest.groups_of(self.pid)

    def resume(self) -> None:
        self._domain.resume()

    def end(self) -> None:
        self._domain.destroy()


class Maker:
    """Starts domains.

    :param directory: for libvirtd's files and the images
    """

    def __init__(self, directory: pathlib.Path, cpus: tuple[int, ...],
                 accelerator: str) -> None:
        self._directory = directory
        cells = hosts.cells_of(cpus)
        # The pCPUs of the cases are in the last cell, too.
        self._cpus = sorted(cells[-1])
        self._memory = _CELL.format(len(cells) - 1) if cells[1:] else ''
        if int(_PAGES.read_text()):
            self._memory += _HUGE
        self._kind, self._cpu = _KINDS[accelerator]
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        self._domains = domains.Domains('qemu', self._directory / 'cloud')
        return self

    def __exit__(self, *_: object) -> None:
        self._domains.close()

    @property
    def uri(self) -> str:
        """The address of its libvirtd."""
        return str(self._domains.kind.uri)

    def launch(self, work: rom.Work, vcpus: int = 1,
               quota: tuple[int, int] | None = None, devices: str = ''
               ) -> Domain:
        """Starts a paused guest.

        :param quota: the quota of its emulator and I/O threads, as
            nova-compute sets it
        :param devices: more devices, as XML
        """
        shared = ','.join(map(str, self._cpus))
        number = next(self._numbers)
        monitor = self._directory / f'{number}.qmp'
        xml = _XML.format(
            name=f'nova-rt-{number}', vcpus=vcpus, schema=_SCHEMA,
            monitor=monitor, devices=devices, ram=RAM_MIB,
            kind=self._kind, cpu=self._cpu, memory=self._memory,
            pins=''.join(f"<vcpupin vcpu='{vcpu}' cpuset='{shared}'/>"
                         for vcpu in range(vcpus)),
            rom=rom.assemble(work, self._directory))
        return Domain(self._domains.connection.createXML(
            pinning.limited(xml, quota), libvirt.VIR_DOMAIN_START_PAUSED),
            monitor)
