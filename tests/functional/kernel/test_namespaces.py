# SPDX-License-Identifier: Apache-2.0

"""Commands in namespaces of their own, on the kernel of this machine.

A container engine gives each of its containers such namespaces: here unshare
does, and podman where it is installed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from cloud import settings

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import namespaces
from tests.functional.kernel import base

_ROOT = pathlib.Path(__file__).parents[3]
_SECONDS = settings.patience(60)
_HELD_US = 10_000
#: Runs nova-rt, and the driver of nova-compute without Nova around it.  A
#: scratch group stands for the top group of all guests.
_PROGRAM = """
import contextlib, io, json, sys, types
import nova.conf
from nova_rt.machine.host import cgroup
from nova_rt.machine import privsep
from nova_rt.services import conf
from nova_rt.services.virt.libvirt import driver, reservations
from rt_operate.commands import main

class Driver(driver.RTLibvirtDriver):
    def __init__(self):
        self.rt_reservations = reservations.Reservations(None, None)
        self.virtapi = types.SimpleNamespace(_compute=types.SimpleNamespace(
            rt=types.SimpleNamespace(rt_strangers=())))
        self._host = types.SimpleNamespace(get_online_cpus=lambda: {0})

    def _get_vcpu_available(self):
        return {0}

    def _get_pcpu_available(self):
        return set()

def run(*words):
    with (contextlib.redirect_stdout(io.StringIO()) as out,
          contextlib.redirect_stderr(io.StringIO()) as err):
        status = main.main(words)
    return status, out.getvalue(), err.getvalue()

name, *commands = sys.argv[1:]
cgroup.GUEST_GROUPS = (f'/{name}',) * 2
privsep.TOPS = {name}
privsep.cgroup_pctxt.set_client_mode(False)
conf.register_opts(nova.conf.CONF)
nova.conf.CONF.set_override('virt_type', 'lxc', 'libvirt')
compute = Driver()
compute._rt_begin()
found = {'said': str(compute.rt_capacity),
    'traits': sorted(compute._rt_traits()),
    'left': [each['total'] - each['reserved'] for each
             in compute._rt_inventory({'CUSTOM_RT_BANDWIDTH': {
                 'total': 7, 'reserved': 0}}).values()]}
for command in commands:
    found[command.split()[0]] = run(*command.split())
print(json.dumps(found))
"""
_DOCTOR = 'doctor -f json'


class TestCase(base.RealKernelTest):
    """The guest has tasks, none of which is real-time at this moment.

    So the kernel would let somebody take the budget of the guest.
    """

    def setUp(self) -> None:
        super().setUp()
        reason = namespaces.trouble(host_files.Host())
        if reason:
            self.skipTest(reason)
        self.guest = self.make(self.top / 'guest')
        self.take_room()
        base.give(self.guest, _HELD_US)
        (self.guest / 'cgroup.procs').write_text(str(self.start().pid))
        # The place of the caller in the hierarchy, like the place of a
        # container.
        self.place = self.make(self.top / 'place')
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=_ROOT))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / 'program.py').write_text(_PROGRAM)

    def found(self, prefix: str, *commands: str) -> dict[str, Any]:
        """Returns the messages about commands behind *prefix*, shell code.

        It may name the group $PLACE that it is in, which is its own, and the
        mount point $MOUNT of the hierarchy.
        """
        line = (f'echo $$ > "$PLACE/cgroup.procs" && {prefix} '
                f'"$PYTHON" "$FOLDER/program.py" "$@"')
        done = subprocess.run(
            ['sh', '-c', line, 'sh', self.name, *commands], check=False,
            capture_output=True, text=True, timeout=_SECONDS, cwd=_ROOT,
            env={**os.environ, 'PYTHON': sys.executable,
                 'PLACE': str(self.place), 'MOUNT': str(self.cpu),
                 'FOLDER': str(self.folder), 'PYTHONPATH': str(_ROOT),
                 'PYTHONWARNINGS': 'ignore'})
        self.assertEqual(0, done.returncode, done.stderr)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def assert_refused(self, prefix: str, *words: str) -> None:
        """No budget is taken, nothing is offered, and each command says so."""
        acting = ('release', 'conformance --this-host-may-crash',
                  'top --once --seconds 0.1')
        found = self.found(prefix, *acting, _DOCTOR)
        self.assertEqual(_HELD_US, base.budget(self.guest)[0])
        self.assertEqual(base.TOP_US, base.budget(self.top)[0])
        for command in acting:
            status, out, err = found[command.split()[0]]
            self.assertEqual((1, ''), (status, out), err)
            self.assert_sentence(err, *words)
        self.assertEqual(([], [0]), (found['traits'], found['left']))
        self.assert_sentence(found['said'], 'does not see the host', *words)
        self.assertFalse(found['said'].endswith('.'), 'the log adds one')
        status, out, _ = found['doctor']
        self.assertEqual(2, status, out)
        self.assertIsNone(json.loads(out)['capacity_ppm'])
        levels = _levels(out)
        self.assertEqual('problem', levels['host.seen'])
        self.assertNotIn('orphans.budget', levels)

    def assert_at_home(self, prefix: str) -> None:
        """The results are the same as on the host itself."""
        found = self.found(prefix, 'release', _DOCTOR)
        self.assertEqual(_HELD_US, base.budget(self.guest)[0])
        self.assertEqual((0, ''), (found['release'][0], found['release'][2]))
        self.assertNotIn('none', found['said'])
        self.assertIn('CUSTOM_HCBS', found['traits'])
        out = found['doctor'][1]
        self.assertEqual(self.interface.name, json.loads(out)['interface'])
        self.assertEqual('OK', _levels(out)['host.seen'])

    def assert_sentence(self, said: str, *words: str) -> None:
        self.assertEqual(1, len(said.splitlines()), said)
        for word in words:
            self.assertIn(word, said)


class UnshareTest(TestCase):

    def test_host(self) -> None:
        self.assert_at_home('exec')

    def test_pid(self) -> None:
        self.assert_refused('unshare --pid --fork --mount --mount-proc',
                            'pid_mode')

    def test_pid_with_proc_of_the_host(self) -> None:
        """The system calls of the process take other ids than /proc shows."""
        self.assert_refused('unshare --pid --fork', '/proc')

    def test_cgroup(self) -> None:
        self.assert_refused('unshare --cgroup', 'cgroupns_mode')

    def test_mount(self) -> None:
        """Engines show a container its own groups of cgroup v1 in this way."""
        self.assert_refused(
            'unshare --mount sh -c \'mount --bind "$PLACE" "$MOUNT" && '
            'exec "$0" "$@"\'', '/sys/fs/cgroup')

    def test_nothing_mounted(self) -> None:
        self.assert_refused(
            'unshare --mount sh -c \'umount --lazy "$MOUNT" && '
            'exec "$0" "$@"\'', 'not mounted')

    def test_mount_of_the_same(self) -> None:
        """A namespace that shows the same does no harm."""
        self.assert_at_home('unshare --mount')


class PodmanTest(TestCase):
    """Containers as Kolla makes them: privileged, with a /run of the host."""

    #: The root directory of the host, without what is mounted below.
    IN_CONTAINER = (
        'unshare --mount sh -c \'mount --bind / "$FOLDER/root" && exec podman '
        '--root "$FOLDER/storage" --runroot "$FOLDER/run" --runtime runc '
        'run --rm --privileged --network host --ipc host '
        '--ulimit nofile=1024:1024 --ulimit nproc=1024:1024 '
        '--env PYTHONPATH --env PYTHONWARNINGS '
        '--volume /run:/run --volume "$PYTHONPATH:$PYTHONPATH" {} '
        '--rootfs "$FOLDER/root" "$0" "$@"\'')

    def setUp(self) -> None:
        if not (shutil.which('podman') and shutil.which('runc')):
            self.skipTest('podman or runc is not installed')
        super().setUp()
        (self.folder / 'root').mkdir()
        before = set(_engine_groups())
        self.addCleanup(base.eventually, lambda: [
            group.rmdir() for group in _engine_groups()
            if group not in before])  # podman's monitor ends a moment later

    def test_as_kolla_has_it(self) -> None:
        self.assert_refused(self.IN_CONTAINER.format(''), 'pid_mode')

    def test_pid_mode_alone(self) -> None:
        """Engines show the groups of the container, with either version."""
        self.assert_refused(self.IN_CONTAINER.format('--pid host'), 'cgroup')

    def test_without_cgroupns_mode(self) -> None:
        self.assert_refused(
            self.IN_CONTAINER.format(
                '--pid host --cgroupns private '
                '--volume /sys/fs/cgroup:/sys/fs/cgroup'), 'cgroupns_mode')

    def test_in_the_namespaces_of_the_host(self) -> None:
        self.assert_at_home(self.IN_CONTAINER.format(
            '--pid host --cgroupns host '
            '--volume /sys/fs/cgroup:/sys/fs/cgroup'))


def _engine_groups() -> list[pathlib.Path]:
    """The groups that podman makes for its containers, deepest first."""
    return sorted({*pathlib.Path('/sys/fs/cgroup').glob('*/libpod_parent'),
                   *pathlib.Path('/sys/fs/cgroup').glob(
                       '*/libpod_parent/**/')}, reverse=True)


def _levels(report: str) -> dict[str, str]:
    """Returns the level of each finding of the doctor, by check."""
    return {each['id']: each['level']
            for each in json.loads(report)['findings']}
