# SPDX-License-Identifier: Apache-2.0

"""The compute nodes that a full cloud can have: only names and numbers.

``full/nodes.py`` makes the nodes out of namespaces.
"""

import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Node:
    """One host of guests.

    :ivar guest: the kind of its guests
    :ivar address: the loopback address at which a virtual machine arrives;
        libvirt refuses 127.0.0.1
    :ivar pool_us: us of each second, on every pCPU, out of the 950 000 that
        kernels give to real-time groups
    """

    name: str
    guest: str
    pool_us: int
    address: str = '127.0.0.2'

    @property
    def host_name(self) -> str:
        """Returns a dotted name; libvirt would resolve any other name."""
        return f'{self.name}.example'

    @property
    def group(self) -> str:
        """Returns the node's control group, the same in every hierarchy."""
        return f'nova-rt-{self.name}'


#: One node for each kind of guests.  The paper's 60 % fit on the first node,
#: and some of the pool is left for the machine's own groups.
KINDS = (Node('lxc', 'lxc', 650_000), Node('qemu', 'qemu', 200_000))
#: The kind of the guests that move: qemu or kvm.
_MACHINES = os.environ.get('NOVA_RT_PAIR', 'qemu')
#: Two nodes of a kind, between which virtual machines move.
PAIR = (Node('east', _MACHINES, 400_000),
        Node('west', _MACHINES, 400_000, '127.0.0.3'))
ALL = (*KINDS, *PAIR)
