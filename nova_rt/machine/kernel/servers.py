# SPDX-License-Identifier: Apache-2.0

"""Reads how much of each CPU the kernel's own deadline servers take.

The servers of the fair and the ext class keep ordinary tasks alive.  Control
groups with deadline servers share the bandwidth of a CPU with the kernel's own
servers.
"""

import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.rules import reservation

DEBUG = '/sys/kernel/debug/sched'
#: Each server, and a file that exists only if the kernel has the server; ''
#: if each kernel with HCBS has it.
_SERVERS = (('fair_server', ''),
            ('ext_server', '/sys/kernel/sched_ext/state'))
#: The default share of such a server, in ppm.
_DEFAULT_PPM = 50_000


def ppm(fs: cgroup.CgroupFS, cpus: tuple[int, ...]) -> int:
    """Returns the largest bandwidth that the servers take from a CPU.

    A server that cannot be read (debugfs is for root only) counts with its
    default.
    """
    return sum(max((_server_ppm(fs, server, sign, cpu) for cpu in cpus),
                   default=0) for server, sign in _SERVERS)


def _server_ppm(fs: cgroup.CgroupFS, server: str, sign: str, cpu: int) -> int:
    path = posixpath.join(DEBUG, server, f'cpu{cpu}')
    try:
        runtime, period = (int(fs.read(posixpath.join(path, name)))
                           for name in ('runtime', 'period'))
    except (OSError, ValueError):
        return _DEFAULT_PPM if not sign or _exists(fs, sign) else 0
    return -(-runtime * reservation.PPM // period) if period else 0


def _exists(fs: cgroup.CgroupFS, path: str) -> bool:
    try:
        fs.read(path)
    except OSError:
        return False
    return True
