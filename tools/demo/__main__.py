# SPDX-License-Identifier: Apache-2.0

"""The story, step by step: ``tools/demo.sh [--report FILE] [--keep]``."""

import argparse
from collections.abc import Iterator, Sequence
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

from cloud import main as cloud_main
from cloud import settings

from demo import client
from demo import host
from demo import report

RESERVED = 'server create --flavor flavor_rt1 --image lxc-busy --nic none'
PERIODS = 25


class Demo:
    """Runs commands, watches the host, fills the report."""

    def __init__(self) -> None:
        self.report = report.Report()
        self.cloud = settings.load()
        self._started = float(os.environ.get('DEMO_STARTED', time.time()))

    @contextlib.contextmanager
    def step(self, name: str, title: str) -> Iterator[None]:
        """A titled step whose seconds go into the report."""
        print(f'\n== [{time.time() - self._started:5.1f} s] {title}',
              flush=True)
        started = time.monotonic()
        yield
        self.report.seconds[name] = round(time.monotonic() - started, 1)

    def openstack(self, command: str, columns: str = '') -> client.Answer:
        """Show a command, run it, show its answer."""
        print(f'$ openstack {command}', flush=True)
        answer = client.run(f'{command} {columns}')
        if answer.text:
            print(answer.text, flush=True)
        return answer

    def must(self, command: str, columns: str = '') -> None:
        if self.openstack(command, columns).status:
            self.report.problem(f'"openstack {command}" failed')

    def create(self, name: str, extra: str = '', what: str = RESERVED
               ) -> None:
        self.must(f'{what} {extra}{" " if extra else ""}{name}',
                  '-f value -c name -c status')

    def built(self) -> None:
        """Wait until no server is being built, then list them.

        The client's own --wait looks every five seconds only.
        """
        columns = '-f value -c Name -c Status --sort-column Name'
        deadline = time.monotonic() + 60
        while 'BUILD' in client.run(f'server list {columns}').text:
            if time.monotonic() > deadline:
                self.report.problem('a server is still being built')
                break
        self.must('server list', columns)

    def measure(self, condition: str) -> None:
        found = [server for server in host.servers(self.cloud)
                 if server.claim and server.group]
        print(f'  measuring over {PERIODS} of the longest period ...',
              flush=True)
        tasks = {server.name: host.busy_tasks(server) for server in found}
        measured = host.shares(found, PERIODS)
        self.report.heading()
        for server in found:
            self.report.measured(server, condition, measured[server.name],
                                 tasks[server.name])

    def bad(self, command: str) -> None:
        """A command that must be refused, with a sentence."""
        answer = self.openstack(command)
        if not answer.status:
            self.report.problem(f'"openstack {command}" was accepted')
        self.report.refused(f'openstack {command}', answer.text)

    def no_room(self, name: str, *patterns: str) -> None:
        """A server that must end in ERROR, and why.

        :param patterns: what an operator finds in the log besides
        """
        command = f'{RESERVED} {name}'
        self.openstack(command, '-f value -c status')
        self.built()
        shown = client.run(f'server show {name} -f json -c status -c fault')
        print(f'$ openstack server show {name} -c status -c fault')
        match = re.search(r'"message": "((?:[^"\\]|\\.)*)"', shown.text)
        reason = match[1] if match else shown.text
        print(f'  {reason}', flush=True)
        if '"ERROR"' not in shown.text:
            self.report.problem(f'{name} was not refused')
        for line in (self.logged(pattern) for pattern in patterns):
            reason += f'; nova.log: {line}'
        self.report.refused(f'openstack {command}', reason)
        self.must(f'server delete --wait {name}')

    def restart_nova(self, override: str) -> None:
        print(f'$ tools/cloud.sh restart --set {override}', flush=True)
        cloud_main.main(['restart', '--set', override])

    def logged(self, pattern: str) -> str:
        """The last line of Nova's log with *pattern*: for the operator."""
        lines = self.cloud.log_file('nova').read_text().splitlines()
        found = [line for line in lines if re.search(pattern, line)]
        if not found:
            self.report.problem(f'nothing logged "{pattern}"')
            return ''
        text = found[-1].split(' INFO ')[-1]
        print(f'$ grep "{pattern}" .cloud/log/nova.log | tail -1\n  {text}',
              flush=True)
        return text


def reserve(demo: Demo) -> None:
    with demo.step('reserve', 'A flavor with a reservation, two servers'):
        demo.must('flavor create flavor_rt1 --vcpus 1 --ram 512 '
                  '--property hw:cpu.rt_runtime_us=100000 '
                  '--property hw:cpu.rt_period_us=200000',
                  '-f value -c name -c properties')
        demo.create('rt1')
        demo.create('rt2', '--hint cpu.rt_runtime_us=30000 '
                    '--hint cpu.rt_period_us=100000')
        demo.built()
    with demo.step('idle', 'What they get on an idle host'):
        demo.measure('idle')
    with demo.step('noise', 'A noisy neighbour without a reservation'):
        demo.must('flavor create noisy --vcpus 2 --ram 256',
                  '-f value -c name')
        demo.create('noisy', what='server create --flavor noisy '
                    '--image lxc-busy --nic none')
        demo.built()
        demo.measure('noise')
    with demo.step('hint', "The paper's hint: 120 ms instead of 100"):
        demo.must('server delete --wait rt1')
        demo.create('rt3', '--hint cpu.rt_runtime_us=120000')
        demo.built()
        demo.measure('noise')
        demo.must('server delete noisy')


def refuse(demo: Demo) -> None:
    with demo.step('no_room', 'One more that does not fit'):
        demo.no_room('rt4')
    with demo.step('bad_input', 'What makes no sense is refused at once'):
        demo.bad('flavor set flavor_rt1 '
                 '--property hw:cpu.rt_runtime_us=100ms')
        demo.bad('flavor set flavor_rt1 '
                 '--property hw:cpu.rt_runtime_us=300000')
        demo.bad('flavor set flavor_rt1 --property hw:cpu_policy=dedicated')
        for hint in ('cpu.rt_runtime_us=abc', 'cpu.rt_runtime_us=-5',
                     'cpu.rt_runtime_us=300000', 'cpu.rt_runtime=5'):
            demo.bad(f'{RESERVED} --hint {hint} rt5')
    with demo.step('unavailable', 'A host that takes no reservations'):
        demo.restart_nova('nova_rt.hcbs_scheduler_available=false')
        demo.no_room('rt6', 'The server asks for', 'no allocation candidates',
                     'CPU reservations: none on this host')
        for server in host.servers(demo.cloud):
            if server.claim:
                print(f'  {server.name} keeps {server.kernel}')


def clean_up(demo: Demo) -> None:
    with demo.step('delete', 'Everything is deleted, nothing is left'):
        names = ' '.join(server.name
                         for server in host.servers(demo.cloud))
        demo.must(f'server delete --wait {names}')
        demo.must('flavor delete flavor_rt1 noisy')
        usage = client.run('resource provider list -f value -c uuid').text
        shown = demo.openstack(
            f'resource provider usage show {usage.split()[0]}',
            '-f value -c resource_class -c usage').text
        match = re.search(r'CUSTOM_RT_BANDWIDTH (\d+)', shown)
        if not match:
            demo.report.problem('Placement shows no CUSTOM_RT_BANDWIDTH')
        demo.report.leftovers(
            claims=host.charged(demo.cloud),
            allocations=int(match[1]) if match else 0,
            budgets=host.budgets())


def environment() -> None:
    """What ``eval "$(tools/cloud.sh env)"`` does for a shell."""
    text = subprocess.run(
        [settings.PROJECT / 'tools' / 'cloud.sh', 'env'], check=True,
        capture_output=True, text=True).stdout
    for name, value in re.findall(r'export (OS_\w+)=(.*)', text):
        os.environ[name] = value.strip("'")


def run(demo: Demo) -> None:
    with demo.step('cloud', 'The embedded cloud: Keystone, Placement, '
                   'Glance, Neutron, Nova, libvirt'):
        print('$ tools/cloud.sh up', flush=True)
        if cloud_main.main(['up']):
            raise SystemExit('the cloud did not come up')
        environment()
        client.warm_up()
    reserve(demo)
    refuse(demo)
    clean_up(demo)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='demo.sh', description=__doc__)
    parser.add_argument('--report', type=pathlib.Path, metavar='FILE',
                        help='write what was found as JSON')
    parser.add_argument('--keep', action='store_true',
                        help='leave the cloud up')
    options = parser.parse_args(arguments)
    demo = Demo()
    started = float(os.environ.get('DEMO_STARTED', time.time()))
    try:
        run(demo)
    finally:
        if not options.keep:
            print('\n$ tools/cloud.sh down', flush=True)
            cloud_main.main(['down', '--keep-logs'])
    demo.report.seconds['total'] = round(time.time() - started, 1)
    if options.report:
        demo.report.write(options.report)
    print(f'\n{"FAILED" if demo.report.failed else "All as it should be"} '
          f'after {demo.report.seconds["total"]} s')
    return int(demo.report.failed)


if __name__ == '__main__':
    sys.exit(main())
