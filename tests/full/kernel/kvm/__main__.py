# SPDX-License-Identifier: Apache-2.0

"""Guests of QEMU by SCHED_DEADLINE, pinned: what a kernel really does.

Guests of 64 KiB, of KVM or of TCG, are reserved by the product's own
enforcer, beside busy ordinary tasks.  As root, on a machine without libvirtd,
or in the lab, whose CPUs are emulated and their virtualization with them::

    tools/lab.sh debian:13 --kvm kvm
    tools/lab.sh debian:13 --kvm --icount tcg kvm kvm-costs
"""

import argparse
from collections.abc import Callable
import contextlib
import json
import os
import pathlib
import platform
import sys
import tempfile
import traceback

from tests.full.kernel.kvm import cases
from tests.full.kernel.kvm import costs
from tests.full.kernel.kvm import devices
from tests.full.kernel.kvm import domains
from tests.full.kernel.kvm import emulators
from tests.full.kernel.kvm import host as hosts
from tests.full.kernel.kvm import plain
from tests.full.kernel.kvm import probes

_Maker = Callable[[pathlib.Path, tuple[int, ...], str],
                  contextlib.AbstractContextManager[hosts.Maker]]
_MAKERS: dict[str, _Maker] = {'libvirt': domains.Maker,
                              'plain': plain.Maker}
_CASES = {**cases.CASES, **cases.KVM_CASES, **costs.CASES,
          'emulators': emulators.emulators, 'device': devices.device,
          'tracker': devices.tracker, **probes.CASES}


def run(host: hosts.Host, names: list[str]) -> dict[str, str]:
    """Returns what failed, by its case."""
    failed = {}
    for name in names:
        print(name, file=sys.stderr, flush=True)
        try:
            _CASES[name](host)
        except Exception as error:
            traceback.print_exc()
            failed[name] = f'{type(error).__name__}: {error}'
    return failed


def report(host: hosts.Host, args: argparse.Namespace,
           failed: dict[str, str]) -> dict[str, object]:
    """Returns the report, with one sentence for the table of kernels."""
    clock = 'deterministic' if host.deterministic else "the host's"
    return {'release': platform.release(), 'cpus': len(host.cpus),
            'guests': args.guests, 'accelerator': args.accelerator,
            'clock': clock, 'shares': host.shares,
            'worst': round(host.worst, 4), 'found': host.found,
            'failed': failed, 'sentence':
            f'{len(host.shares)} shares within {host.worst:.4f}, '
            f'{len(failed)} cases failed'
            + (f' ({", ".join(failed)})' if failed else '')}


def _usual(accelerator: str) -> list[str]:
    return [*cases.CASES, *(cases.KVM_CASES if accelerator == 'kvm' else ())]


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.full.kernel.kvm')
    parser.add_argument('--guests', choices=_MAKERS, default='libvirt',
                        help='who starts them (default: %(default)s)')
    parser.add_argument('--accelerator', choices=('kvm', 'tcg'),
                        default='kvm')
    parser.add_argument('--tolerance', type=float, default=0.02,
                        help='of a share (default: %(default)s of a CPU)')
    parser.add_argument('--seconds', type=float,
                        help='for one share (default: 8, 4 where the clock '
                             'is deterministic)')
    parser.add_argument('--deterministic', action='store_true',
                        help='the clock goes by instructions: judge times')
    parser.add_argument('cases', nargs='*', choices=[[], *_CASES],
                        default=[])
    args = parser.parse_args()
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(prefix='nova-rt-kvm-') as scratch, \
            _MAKERS[args.guests](pathlib.Path(scratch), cpus,
                                 args.accelerator) as maker:
        host = hosts.Host(maker, cpus, args.tolerance,
                          args.seconds or (4 if args.deterministic else 8),
                          args.deterministic)
        failed = run(host, args.cases or _usual(args.accelerator))
    print(json.dumps(report(host, args, failed), indent=1))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
