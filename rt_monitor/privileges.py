# SPDX-License-Identifier: Apache-2.0

"""What a process of the service gives up, once it has begun.

The programs are in the kernel by then: to read their maps, and to attach
those that are loaded to one more network interface, takes no capability.
"""

import ctypes
import os
import pwd
import struct

from nova_rt.machine.host import files as host_files

#: To read the files of libvirt, which are root's.
CAP_DAC_READ_SEARCH = 2
#: For programs in the kernel.
_CAP_SYS_ADMIN, _CAP_PERFMON, _CAP_BPF = 21, 38, 39

_KEEP_CAPABILITIES, _NO_NEW_PRIVILEGES = 8, 38
#: _LINUX_CAPABILITY_VERSION_3, and the thread that calls.
_HEADER = struct.pack('=Ii', 0x20080522, 0)
#: Effective, permitted, inheritable: those below 32, and the others.
_SETS = struct.Struct('=6I')


def lacking(host: host_files.Host) -> str:
    """What this process lacks to begin, as a sentence's part; '' for nothing.

    :raises OSError, ValueError: it cannot be told
    """
    status = dict(line.split(':', 1) for line
                  in host.read('/proc/self/status').splitlines())
    permitted = int(status['CapPrm'], 16)

    def has(capability: int) -> bool:
        return bool(permitted >> capability & 1)

    if has(CAP_DAC_READ_SEARCH):
        return ''  # each source says for itself what it lacks
    names = ['CAP_DAC_READ_SEARCH']
    if not has(_CAP_SYS_ADMIN):
        names += [name for name, number in (
            ('CAP_BPF', _CAP_BPF), ('CAP_PERFMON', _CAP_PERFMON))
            if not has(number)]
    return f'it lacks {", ".join(names)}; run it as root'


def drop(account: pwd.struct_passwd, *kept: int) -> None:
    """Become an ordinary user for good; called before there are threads.

    Who is none of root's stays who he is.

    :param kept: the capabilities that are left
    :raises OSError: the kernel refuses it
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
