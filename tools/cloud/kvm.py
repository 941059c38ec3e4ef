# SPDX-License-Identifier: Apache-2.0

"""Finds out whether this host can run KVM guests.

The flags of the CPU do not tell: some hypervisors offer /dev/kvm to a virtual
machine whose CPU has neither vmx nor svm.  Some of these create a guest and
then refuse registers of its CPU.  A guest of QEMU that is paused does tell.
"""

import fcntl
import functools
import os
import subprocess

DEVICE = '/dev/kvm'
#: Starts a guest that is paused, and then reads the command that ends it.
_TRIAL = ('qemu-system-x86_64', '-accel', 'kvm', '-smp', '2', '-m', '16', '-S',
          '-nodefaults', '-display', 'none', '-monitor', 'stdio')
#: seconds
_PATIENCE = 60
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
    return paused_guest(_TRIAL)


@functools.cache
def paused_guest(command: tuple[str, ...]) -> str:
    """Returns one sentence why *command* cannot start a paused guest, or ''.

    :param command: starts QEMU with its monitor on the standard input
    """
    try:
        trial = subprocess.run(
            command, input='quit\n', capture_output=True, text=True,
            timeout=_PATIENCE, check=False)
    except FileNotFoundError:
        return f'There is no {command[0]}.'
    except subprocess.TimeoutExpired:
        return f'QEMU with KVM did not end within {_PATIENCE} s.'
    if trial.returncode == 0:
        return ''
    said = [line for line in trial.stderr.splitlines()
            if line and 'warning:' not in line]
    reason = said[0] if said else f'exit status {trial.returncode}'
    return f'QEMU cannot start a guest with KVM: {reason}.'
