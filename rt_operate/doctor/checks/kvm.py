# SPDX-License-Identifier: Apache-2.0

"""Checks whether guests of the configured virt_type can run here."""

from collections.abc import Iterator

from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_DEVICE = '/dev/kvm'
_MODULE = '/sys/module/kvm'
#: The flag of the CPU, and the module that uses it.
_FLAGS = {'vmx': 'kvm_intel', 'svm': 'kvm_amd'}


def device(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether /dev/kvm is there if virt_type needs it."""
    name, kind = 'kvm.device', view.options.virt_type
    exists = _exists(view, _DEVICE)
    if kind == 'kvm' and exists:
        yield findings.ok(name, f'Virtual machines run by KVM ({_DEVICE}).')
    elif kind == 'kvm' and not view.options.from_file:
        # virt_type is only Nova's default; nobody has configured it.
        yield findings.ok(name, f'There is no {_DEVICE}, which [libvirt] '
                          f'virt_type = kvm needs: {_why(view)}.')
    elif kind == 'kvm':
        yield findings.problem(
            name, f'[libvirt] virt_type is kvm, but there is no {_DEVICE}: '
            f'{_why(view)}.', _remedy(view))
    elif kind == 'qemu' and exists:
        yield findings.warning(
            name, f'[libvirt] virt_type is qemu, which emulates the CPUs of '
            f'guests, although this host has {_DEVICE}: a guest does a tenth '
            f'of the work or less with the same share of a pCPU.',
            'Set virt_type to kvm, unless emulation is intended.')


def _why(view: doctor_view.View) -> str:
    if _exists(view, _MODULE):
        module = _module(view)
        return (f'the module {module} is not loaded' if module else
                'the CPU has neither vmx nor svm among its flags')
    return 'the module kvm is not loaded'


def _remedy(view: doctor_view.View) -> str:
    module = _module(view)
    if module:
        return f'modprobe {module}'
    return ('Turn virtualization on in the firmware or, if this host is a '
            'virtual machine, nested virtualization on its host; or set '
            'virt_type to qemu, which is slow.')


def _module(view: doctor_view.View) -> str:
    """Returns the module for this CPU; '' if the CPU has neither flag."""
    words = (view.host.optional('/proc/cpuinfo') or '').split()
    return next((module for flag, module in _FLAGS.items() if flag in words),
                '')


def _exists(view: doctor_view.View, path: str) -> bool:
    try:
        view.host.inode(path)
    except OSError:
        return False
    return True


CHECKS: dict[str, doctor_view.Check] = {'kvm.device': device}
