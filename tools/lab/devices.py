# SPDX-License-Identifier: Apache-2.0

"""An SR-IOV device behind an IOMMU, both emulated by QEMU."""

import subprocess

from lab import programs

#: The number of virtual functions that the device has.
FUNCTIONS = 4
#: The bus of the last NUMA cell; lower numbers are for the other bridges.
_BUS = 64
#: The machine with its IOMMU, which QEMU wants before all other devices.
CHIPSET = ('-machine', 'q35', '-device', 'intel-iommu,intremap=on')
#: What the kernel needs on its command line.
KERNEL_WORDS = 'intel_iommu=on'
#: The words of QEMU for a device in the port "socket", by its name.
_WORDS = {
    'igb': ('-device', 'igb,bus=socket'),
    'nvme': ('-device', 'nvme-subsys,id=subsystem', '-device',
             'nvme,bus=socket,serial=lab,subsys=subsystem,'
             f'sriov_max_vfs={FUNCTIONS},sriov_vq_flexible={2 * FUNCTIONS},'
             f'sriov_vi_flexible={FUNCTIONS}')}


def find() -> str:
    """Returns the name of the first SR-IOV device that QEMU has.

    :raises LabError: when QEMU has none
    """
    done = subprocess.run(['qemu-system-x86_64', '-device', 'help'],
                          stdout=subprocess.PIPE, text=True, check=True)
    for name in _WORDS:
        if f'"{name}"' in done.stdout:
            return name
    raise programs.LabError('this QEMU has no device with SR-IOV: install '
                            'QEMU 7.1 or newer, or leave out --sriov')


def words(device: str, cells: int) -> list[str]:
    """Returns the words of QEMU for a device in the last NUMA cell.

    These words come last: QEMU plugs a device that names no bus into the
    bridge if there is one, and the bridge takes other bridges only.

    :param device: one of those that :func:`find` returns
    :param cells: the number of NUMA cells
    """
    bridge = f'pxb-pcie,id=bridge,bus_nr={_BUS},bus=pcie.0'
    if cells > 1:
        bridge += f',numa_node={cells - 1}'
    return ['-device', bridge, '-device',
            'pcie-root-port,id=socket,bus=bridge,chassis=1', *_WORDS[device]]
