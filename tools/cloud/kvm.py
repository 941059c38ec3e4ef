# SPDX-License-Identifier: Apache-2.0

"""Finds out whether this host can run KVM guests.

The flags of the CPU do not tell: some hypervisors offer /dev/kvm to a virtual
machine whose CPU has neither vmx nor svm.  A guest that is created does.
"""

import fcntl
import os

DEVICE = '/dev/kvm'
#: See linux/kvm.h: KVM_CREATE_VM is _IO(KVMIO, 1) with the default type.
_CREATE_VM = 0xAE01


def lacking(device: str = DEVICE) -> str:
    """Returns one sentence why *device* cannot run guests, or ''."""
    try:
        kvm = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return f'This host has no {device}.'
    except OSError as error:
        return f'{device} cannot be opened: {error.strerror}.'
    try:
        os.close(fcntl.ioctl(kvm, _CREATE_VM, 0))
    except OSError as error:
        return f'KVM cannot create a guest: {error.strerror}.'
    finally:
        os.close(kvm)
    return ''
