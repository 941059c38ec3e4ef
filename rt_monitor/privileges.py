# SPDX-License-Identifier: Apache-2.0

"""Checks and drops the privileges of the service's processes.

Privileges are dropped after the programs have been loaded.  From then on no
capability is needed to read their maps, or to attach loaded programs to
another network interface.
"""

import ctypes
import os
import pwd
import struct

from nova_rt.machine.host import files as host_files

#: The capability to read the files of libvirt, which belong to root.
CAP_DAC_READ_SEARCH = 2
#: The capabilities to load programs into the kernel.
_CAP_SYS_ADMIN, _CAP_PERFMON, _CAP_BPF = 21, 38, 39

_KEEP_CAPABILITIES, _NO_NEW_PRIVILEGES = 8, 38
#: _LINUX_CAPABILITY_VERSION_3, and 0 for the calling thread.
_HEADER = struct.pack('=Ii', 0x20080522, 0)
#: The effective, permitted and inheritable set: first the capabilities below
#: 32 of all three, then the others.
_SETS = struct.Struct('=6I')


def lacking(host: host_files.Host) -> str:
    """Returns which capabilities this process lacks, as part of a sentence.

    :returns: '' if it lacks none
    :raises OSError: when the capabilities cannot be read
    :raises ValueError: when the kernel shows them in an unknown form
    """
    status = dict(line.split(':', 1) for line
                  in host.read('/proc/self/status').splitlines())
    permitted = int(status['CapPrm'], 16)

    def has(capability: int) -> bool:
        return bool(permitted >> capability & 1)

    if has(CAP_DAC_READ_SEARCH):
        return ''  # each source reports by itself what it lacks
    names = ['CAP_DAC_READ_SEARCH']
    if not has(_CAP_SYS_ADMIN):
        names += [name for name, number in (
            ('CAP_BPF', _CAP_BPF), ('CAP_PERFMON', _CAP_PERFMON))
            if not has(number)]
    return f'this process lacks {", ".join(names)}; run it as root'


def drop(account: pwd.struct_passwd, *kept: int) -> None:
    """Makes this process an ordinary user for good.

    This function must be called before the process starts threads.  A process
    that does not run as root keeps its user.

    :param account: the user to become
    :param kept: the capabilities to keep
    :raises OSError: when the kernel refuses the change
    """
    library = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0:
        _checked(library.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0))
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
    left = sum(1 << capability for capability in kept)
    _checked(library.capset(_HEADER, _SETS.pack(left, left, 0, 0, 0, 0)))
    _checked(library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def _checked(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
