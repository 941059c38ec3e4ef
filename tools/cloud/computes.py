# SPDX-License-Identifier: Apache-2.0

"""The compute nodes a full cloud can have: only names and numbers.

How a node is made out of namespaces is in ``full/nodes.py``.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Node:
    """One host of guests.

    :ivar guest: the kind of its guests
    :ivar address: on the loopback, where a virtual machine arrives; libvirt
        takes the usual one for a mistake
    :ivar pool_us: us of each second, on every pCPU, of the 950 000 that
        kernels give out to real-time groups
    """

    name: str
    guest: str
    pool_us: int
    address: str = '127.0.0.2'

    @property
    def host_name(self) -> str:
        """Dotted, or libvirt would ask the resolver for it."""
        return f'{self.name}.example'

    @property
    def group(self) -> str:
        """The node's control group, the same in every hierarchy."""
        return f'nova-rt-{self.name}'


#: One for each kind of guests.  The paper's 60 % fit the first; the machine's
#: own groups find some left.
KINDS = (Node('lxc', 'lxc', 650_000), Node('qemu', 'qemu', 200_000))
#: Two of a kind: virtual machines move between them.
PAIR = (Node('east', 'qemu', 400_000),
        Node('west', 'qemu', 400_000, '127.0.0.3'))
ALL = (*KINDS, *PAIR)
