# SPDX-License-Identifier: Apache-2.0

"""Whether the guests that are asked for can run, and as asked for."""

from collections.abc import Iterator

from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_DEVICE = '/dev/kvm'
_MODULE = '/sys/module/kvm'
#: Of the CPU, by the module that uses it.
_FLAGS = {'vmx': 'kvm_intel', 'svm': 'kvm_amd'}


def device(view: doctor_view.View) -> Iterator[findings.Finding]:
    name, kind = 'kvm.device', view.options.virt_type
    there = _is_there(view, _DEVICE)
    if kind == 'kvm' and there:
        yield findings.ok(name, f'Virtual machines run by KVM ({_DEVICE}).')
    elif kind == 'kvm' and not view.options.from_file:
        # Nobody has asked for it.
        yield findings.ok(name, f'There is no {_DEVICE}, which [libvirt] '
                          f'virt_type = kvm would need: {_why(view)}.')
    elif kind == 'kvm':
        yield findings.problem(
            name, f'[libvirt] virt_type is kvm, and there is no {_DEVICE}: '
            f'{_why(view)}.', _remedy(view))
    elif kind == 'qemu' and there:
        yield findings.warning(
            name, f'[libvirt] virt_type is qemu, which emulates the CPUs of '
            f'guests, though this host has {_DEVICE}: a share of a pCPU is '
            f'worth a tenth of the work or less.',
            'Set it to kvm, unless that is meant.')


def _why(view: doctor_view.View) -> str:
    if _is_there(view, _MODULE):
        module = _wanted(view)
        return (f'the module {module} is not loaded' if module else
                'the CPU shows neither vmx nor svm')
    return 'the module kvm is not loaded'


def _remedy(view: doctor_view.View) -> str:
    module = _wanted(view)
    if module:
        return f'modprobe {module}'
    return ('Switch virtualization on in the firmware, or nested '
            'virtualization below this virtual machine; or set virt_type to '
            'qemu, which is slow.')


def _wanted(view: doctor_view.View) -> str:
    """The module for this CPU; '' where it has no such extension."""
    words = (view.host.optional('/proc/cpuinfo') or '').split()
    return next((module for flag, module in _FLAGS.items() if flag in words),
                '')


def _is_there(view: doctor_view.View, path: str) -> bool:
    try:
        view.host.inode(path)
    except OSError:
        return False
    return True


CHECKS: dict[str, doctor_view.Check] = {'kvm.device': device}
