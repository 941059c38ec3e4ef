# SPDX-License-Identifier: Apache-2.0

"""The jobs that can be run in the machine, and their results."""

from collections.abc import Sequence
import dataclasses
import pathlib
import re
import shlex

from lab import programs

#: Keeps the logs of the embedded cloud, which say more than its tests.
_LOGS = '; status=$?; cp -r .cloud/log* /lab/out/; exit $status'
# A guest of each accelerator, reserved by the product's enforcer.  The job
# judges only those times that are the same in each run.
_GUESTS = ('python -W ignore -m tests.full.kernel.kvm --accelerator {} '
           '--guests {} --tolerance "$NOVA_RT_LAB_TOLERANCE" '
           '$NOVA_RT_LAB_CLOCK')
#: Shell commands by name, run at the project's root.
NAMED = {
    'unit': 'stestr --test-path tests/unit run',
    'kernel': 'stestr --test-path tests/functional run --serial '
              'functional.kernel',
    'functional': 'stestr --test-path tests/functional run',
    'cloud': 'stestr --test-path tests/cloud run --serial '
             f'${{NOVA_RT_TESTS:+"$NOVA_RT_TESTS"}}{_LOGS}',
    'figure5': 'stestr --test-path tests/cloud run --serial -n '
               f'tests.cloud.test_figure5{_LOGS}',
    'life': 'stestr --test-path tests/cloud run --serial '
            f'"reserved_container|cloud.test_lifecycle"{_LOGS}',
    'demo': 'tools/demo.sh --tolerance "$NOVA_RT_LAB_TOLERANCE" '
            f'--report /lab/out/demo.json{_LOGS}',
    'demo-lxc': 'tools/demo.sh --guest lxc --tolerance '
                f'"$NOVA_RT_LAB_TOLERANCE" --report /lab/out/demo.json{_LOGS}',
    'demo-kvm': 'tools/demo.sh --guest kvm --tolerance '
                f'"$NOVA_RT_LAB_TOLERANCE" --report /lab/out/demo.json{_LOGS}',
    'server-qemu': 'stestr --test-path tests/cloud run --serial -n '
                   f'tests.cloud.test_reserved_qemu{_LOGS}',
    'life-kvm': 'stestr --test-path tests/cloud run --serial '
                f'reserved_kvm{_LOGS}',
    'server-kvm': 'NOVA_RT_STOCK=1 stestr --test-path tests/cloud run '
                  f'--serial KvmTestCase.test_one_server{_LOGS}',
    # Emulated CPUs take turns, also with a deterministic clock.
    'profiles': 'python -W ignore -m tests.full.kernel.kvm.profiles' + _LOGS,
    'conformance': 'nova-rt conformance --this-host-may-crash -f json '
                   '--log /lab/out/conformance.log '
                   '--tolerance "$NOVA_RT_LAB_TOLERANCE"',
    'domains': 'python -W ignore -m tests.full.kernel.domains '
               '--tolerance "$NOVA_RT_LAB_TOLERANCE"',
    'sold': 'python -W ignore -m tests.full.kernel.sold '
            '--tolerance "$NOVA_RT_LAB_TOLERANCE"',
    'pinned': 'python -W ignore -m tests.full.kernel.pinned '
              '--tolerance "$NOVA_RT_LAB_TOLERANCE"',
    'tcg': _GUESTS.format('tcg', 'plain'),
    'kvm': _GUESTS.format('kvm', 'libvirt'),
    'kvm-plain': _GUESTS.format('kvm', 'plain'),
    'kvm-costs': f'{_GUESTS.format("kvm", "plain")} halt_polling big_lock '
                 'workers no_reset_on_fork',
    # By libvirt, which sets the limit.
    'kvm-emulators': f'{_GUESTS.format("kvm", "libvirt")} emulators',
    # With --sriov.
    'kvm-device': f'{_GUESTS.format("kvm", "libvirt")} tracker '
                  'device',
    'kvm-boot': f'{_GUESTS.format("kvm", "plain")} boot',
    'kvm-probe': f'{_GUESTS.format("kvm", "plain")} probe',
    'monitor': 'stestr --test-path tests/functional run --serial '
               'functional.kernel.monitor',
    'programs': 'python -W ignore -m tests.full.kernel.programs',
    'soak': 'python -W ignore -m tests.full.kernel.soak '
            '--tolerance "$NOVA_RT_LAB_TOLERANCE"',
    'budgets': 'python -W ignore -m tests.full.kernel.budgets',
    'releases': 'python -W ignore -m tests.full.kernel.releases',
    'differential': 'python -W ignore -m tests.full.kernel.differential',
    # Any answer is good here: not every kernel has an interface.
    'doctor': 'nova-rt doctor -f json || [ $? -le 2 ]',
}
#: The guests of a job: processes as vCPUs or in containers, or real guests.
GUESTS = {**dict.fromkeys(('conformance', 'sold', 'pinned', 'budgets', 'soak',
                           'releases'), 'processes'),
          'domains': 'containers, TCG', 'tcg': 'TCG',
          **dict.fromkeys(('kvm', 'kvm-plain', 'kvm-costs', 'kvm-boot',
                           'kvm-probe', 'kvm-emulators', 'kvm-device',
                           'demo-kvm',
                           'life-kvm', 'server-kvm', 'profiles'), 'KVM'),
          **dict.fromkeys(('cloud', 'demo', 'demo-lxc', 'figure5', 'life'),
                          'containers'),
          'server-qemu': 'TCG'}
#: The kind of place in which a job, if it passes, has proven reservations.
PROVES = {**dict.fromkeys(('conformance', 'sold', 'pinned', 'domains', 'tcg'),
                          'lab'),
          **dict.fromkeys(('kvm', 'kvm-plain'), 'KVM'),
          **dict.fromkeys(('cloud', 'demo', 'demo-lxc', 'figure5', 'life',
                           'server-qemu'), 'cloud'),
          **dict.fromkeys(('demo-kvm', 'life-kvm', 'server-kvm', 'profiles'),
                          'cloud with KVM')}
#: The jobs that start the embedded cloud.
CLOUD = frozenset(('cloud', 'demo', 'demo-lxc', 'figure5', 'life',
                   'server-qemu', 'demo-kvm', 'life-kvm', 'server-kvm',
                   'profiles'))
#: The job that runs the words after ``--``.
COMMAND = 'command'
_TOTAL = re.compile(r'^ - (Passed|Failed|Skipped|Unexpected \w+): (\d+)$',
                    re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of one job, whether or not the job has ended.

    :ivar status: the exit status; None if the job was cut off or never began
    :ivar seconds: how long the job ran by the machine's clock
    :ivar passed, failed, skipped: numbers of tests, if the job counts tests
    """

    name: str
    status: int | None
    seconds: int
    output: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0


def script(name: str, command: Sequence[str] = ()) -> str:
    """Returns the script of a job that is given by name or as a command."""
    if name == COMMAND:
        return shlex.join(command)
    if name not in NAMED:
        raise programs.LabError(
            f'{name} is not a test of the lab: name some of '
            f'{", ".join(NAMED)}, or give a command after --')
    return NAMED[name]


def read(directory: pathlib.Path, file: str) -> Result:
    """Reads the result that the machine left in *directory* for one job."""
    output = directory / f'{file}.output'
    text = output.read_text(errors='replace') if output.exists() else ''
    ended = directory / f'{file}.status'
    words = ended.read_text().split() if ended.exists() else []
    status, seconds = map(int, words) if len(words) == 2 else (None, 0)
    totals = {kind.split()[0]: int(number)
              for kind, number in _TOTAL.findall(text)}
    return Result(file.partition('-')[2], status, seconds, text,
                  totals.get('Passed', 0),
                  totals.get('Failed', 0) + totals.get('Unexpected', 0),
                  totals.get('Skipped', 0))
