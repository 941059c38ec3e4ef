# SPDX-License-Identifier: Apache-2.0

"""One boot: the files that go into the machine, and those that come out."""

from collections.abc import Sequence
import dataclasses
import os
import pathlib
import shlex
import shutil
import tempfile
import time

from cloud import kept

from lab import devices
from lab import image
from lab import initrd
from lab import jobs
from lab import kernels
from lab import machine
from lab import programs
from lab import verdict

GUEST = pathlib.Path(__file__).with_name('guest.sh')
#: Files of the project that are on the disk already, or useless in the lab.
_LEFT_OUT = ('.git', '.venv', '.cloud', '.stestr*', '.tox', '.hypothesis',
             '.mypy_cache', '.ruff_cache', 'build')
_CONSOLE = 'console.log'
#: Variables of this environment that choose the tests of a job.
_CHOICES = ('NOVA_RT_DAY', 'NOVA_RT_LIFE', 'NOVA_RT_PROBES',
            'NOVA_RT_STOCK', 'NOVA_RT_TESTS')


@dataclasses.dataclass(frozen=True)
class Session:
    """The request for one boot.

    :ivar root: the disk or directory with the Debian, which is not changed
    :ivar scripts: the scripts for bash, one after the other, by name
    :ivar timeout: seconds for the whole boot
    :ivar output: where console and outputs are kept, or None
    """

    kernel: kernels.Kernel
    machine: machine.Machine
    root: pathlib.Path
    scripts: Sequence[tuple[str, str]]
    timeout: float
    output: pathlib.Path | None = None

    def run(self) -> verdict.Verdict:
        """Boots, runs the scripts, and judges the results.

        :raises LabError: when the machine could not be prepared or started
        """
        with tempfile.TemporaryDirectory(prefix='nova-rt-lab-') as scratch:
            shared = pathlib.Path(scratch)
            files = self._fill(shared)
            started = time.monotonic()
            in_time = machine.run(
                self.machine.command(self.kernel, self.root, shared,
                                     shared / _CONSOLE), self.timeout)
            results = self._read(shared, files, in_time,
                                 time.monotonic() - started)
            if self.output is not None:
                self._keep(shared, self.output)
            return results

    def _fill(self, shared: pathlib.Path) -> list[str]:
        """Writes the files that the machine reads; returns the jobs' names."""
        for name in ('jobs', 'out'):
            (shared / name).mkdir()
        if self.machine.kvm:
            self.kernel.require_kvm()
        if self.kernel.modules is not None:
            (shared / 'modules').mkdir()
            initrd.build(self.kernel.modules, shared / 'initrd')
        if self.kernel.config is not None:
            shutil.copy(self.kernel.config, shared / 'config')
        shutil.copy(GUEST, shared / GUEST.name)
        (shared / 'settings.sh').write_text(settings(self.machine))
        programs.run(['tar', '-c', '-f', shared / 'project.tar', '-C',
                      image.PROJECT,
                      *(f'--exclude=./{name}' for name in _LEFT_OUT), '.'])
        if jobs.CLOUD.intersection(name for name, _ in self.scripts):
            _give_databases(shared / 'databases')
        files = []
        for number, (name, script) in enumerate(self.scripts):
            files.append(f'{number:02}-{name}')
            (shared / 'jobs' / files[-1]).write_text(script + '\n')
        return files

    def _read(self, shared: pathlib.Path, files: Sequence[str],
              in_time: bool, seconds: float) -> verdict.Verdict:
        out = shared / 'out'
        console = (shared / _CONSOLE).read_text(errors='replace')
        results = tuple(jobs.read(out, file) for file in files)
        died = verdict.deaths(console)
        release, uptime = (_text(out / name) for name in (
            'release', 'uptime'))
        return verdict.Verdict(
            self.kernel.name, release, self.machine.cgroup,
            self.machine.cpus, self.machine.icount,
            float(uptime) if uptime else None, round(seconds, 1),
            verdict.judge(results, died, in_time, bool(uptime)),
            results, died, verdict.warnings(console))

    @staticmethod
    def _keep(shared: pathlib.Path, output: pathlib.Path) -> None:
        shutil.copytree(shared / 'out', output, dirs_exist_ok=True)
        shutil.copy(shared / _CONSOLE, output / _CONSOLE)


def _give_databases(target: pathlib.Path) -> None:
    """Copies the databases of a new cloud, which are made on this machine.

    The machine in the lab would make its own, but takes minutes to do so.
    """
    programs.run([image.PROJECT / 'tools' / 'cloud.sh', 'databases'])
    if kept.root().exists():
        shutil.copytree(kept.root(), target)


def settings(wanted: machine.Machine) -> str:
    """Returns the variables for guest.sh and the jobs, as text for a shell."""
    exported = {
        'NOVA_RT_LAB_TOLERANCE': str(wanted.tolerance),
        'NOVA_RT_LAB_CLOCK': '--deterministic' if wanted.is_exact else '',
        **{name: os.environ[name] for name in _CHOICES
           if name in os.environ}}
    return ''.join([
        f'PROJECT={shlex.quote(str(image.PROJECT))}\n',
        f'CGROUP={wanted.cgroup}\n', f'KVM={wanted.kvm:d}\n',
        f'DEVICE={wanted.device}\n', f'FUNCTIONS={devices.FUNCTIONS}\n',
        *(f'export {name}={shlex.quote(value)}\n'
          for name, value in exported.items())])


def _text(path: pathlib.Path) -> str:
    return path.read_text().strip() if path.exists() else ''
