# SPDX-License-Identifier: Apache-2.0

"""The common parts of the steps: commands, measurements and the report."""

from collections.abc import Iterator
import contextlib
import json
import os
import re
import time

from cloud import main as cloud_main
from cloud import settings

from demo import acts
from demo import client
from demo import guests
from demo import host
from demo import measure
from demo import report
from nova_rt.rules import hostmap

# How long each server is measured, in whole periods of its own.
SECONDS = 5
# Emulated machines boot slowly, with only the CPU time of their reservation.
PATIENCE = settings.patience(120)


class Demo:
    """Runs the commands of one act, measures the host, fills the report."""

    def __init__(self, act: acts.Act, demo_report: report.Report) -> None:
        self.act = act
        self.kind = guests.KINDS[act.guest]
        self.report = demo_report
        self.reserved, self.hostile = (
            f'server create --flavor flavor_rt1 --image {image} --nic none'
            for image in (self.kind.image, self.kind.hostile_image))
        self._booted: set[str] = set()
        self._started = float(os.environ.get('DEMO_STARTED', time.time()))

    @contextlib.contextmanager
    def step(self, name: str, title: str) -> Iterator[None]:
        """Begins a step with a title, whose seconds go into the report."""
        print(f'\n== [{time.time() - self._started:5.1f} s] {title}',
              flush=True)
        started = time.monotonic()
        yield
        self.report.took(name, time.monotonic() - started)

    def openstack(self, command: str, columns: str = '') -> client.Answer:
        """Shows a command, runs the command, and shows its answer."""
        print(f'$ openstack {command}', flush=True)
        answer = client.run(f'{command} {columns}')
        if answer.text:
            print(answer.text, flush=True)
        return answer

    def must(self, command: str, columns: str = '') -> None:
        """Runs a command, and reports a problem if it fails."""
        if self.openstack(command, columns).status:
            self.report.problem(f'"openstack {command}" failed')

    @property
    def cloud(self) -> settings.Settings:
        """Returns the settings of the running cloud."""
        return settings.load()

    def create(self, name: str, extra: str = '', command: str = '') -> None:
        """Creates a server."""
        self.must(f'{command or self.reserved} {extra}{" " if extra else ""}'
                  f'{name}', '-f value -c name -c status')

    @contextlib.contextmanager
    def filled(self) -> Iterator[None]:
        """Fills the pCPUs in the block, so that no pCPU has half free."""
        state = [json.loads(stats[hostmap.MAP])
                 for stats in host.published(self.cloud)]
        names = [f'filler{number}' for number in range(sum(
            not used for each in state if not each['replicated']
            for used in each['used']))]
        for name in names:
            self.create(name, '--hint cpu.rt_runtime_us=120000')
        # The free pCPUs are known when the servers are built.
        if names:
            self.built()
        yield
        # The services of the cloud run in the time that is not reserved.
        if names:
            self.delete(*names)

    def delete(self, *names: str) -> None:
        """Deletes servers, and waits until they are gone.

        The client's own --wait gives up after two minutes, on any host.
        """
        self.must(f'server delete {" ".join(names)}')
        deadline = time.monotonic() + PATIENCE
        while remaining := sorted(server.name for server
                                  in host.servers(self.cloud)
                                  if server.name in names):
            if time.monotonic() > deadline:
                self.report.problem(f'{", ".join(remaining)} still there')
                break
            time.sleep(0.5)

    def built(self) -> None:
        """Waits until no server is being built, then lists the servers.

        The client's own --wait polls only every five seconds, and slows down
        the building of servers.
        """
        deadline = time.monotonic() + PATIENCE
        while host.building(self.cloud):
            if time.monotonic() > deadline:
                self.report.problem('a server is still being built')
                break
            time.sleep(0.2)
        answer = self.openstack(
            'server list', '-f value -c Name -c Status --sort-column Name')
        if answer.status:
            self.report.problem('"openstack server list" failed')
        if self.kind.console:
            for name in re.findall(r'(\S+) ACTIVE', answer.text):
                self._wait_booted(name, deadline)

    def _wait_booted(self, name: str, deadline: float) -> None:
        """Waits for the console to show that a guest has booted."""
        if name in self._booted:
            return
        self._booted.add(name)
        command = f'console log show {name}'
        while not (match := re.search(self.kind.console,
                                      client.run(command).text)):
            if time.monotonic() > deadline:
                self.report.problem(f'{name} does not boot')
                return
            time.sleep(0.5)
        print(f'$ openstack {command}\n{match[0]}', flush=True)

    def measure(self, condition: str) -> None:
        """Measures the shares of all servers, and reports them."""
        servers = [server for server in host.servers(self.cloud)
                   if server.claim and server.group]
        print(f'  measuring for {SECONDS} s ...', flush=True)
        tasks = {server.name: host.busy_tasks(server) for server in servers}
        measured = measure.shares(servers, SECONDS)
        self.report.heading()
        for server in servers:
            self.report.measured(server, condition, measured[server.name],
                                 tasks[server.name])
        for server in servers:
            self.report.policies(server)

    def on_one_pcpu(self, *names: str) -> None:
        """Checks that these servers share a pCPU."""
        cpus = {server.claim.cpus for server in host.servers(self.cloud)
                if server.claim and server.name in names}
        if len(cpus) != 1:
            self.report.problem(f'{", ".join(names)} are on the pCPUs {cpus}')

    def bad(self, command: str) -> None:
        """Runs a command that must be refused with a sentence."""
        answer = self.openstack(command)
        if not answer.status:
            self.report.problem(f'"openstack {command}" was accepted')
        self.report.refused(f'openstack {command}', answer.text)

    def no_room(self, name: str, *patterns: str) -> None:
        """Creates a server that must end in ERROR, and shows the reason.

        :param patterns: texts that the log must have for the operator
        """
        command = f'{self.reserved} {name}'
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
        self.delete(name)

    def restart_nova(self, override: str) -> None:
        """Restarts Nova with another setting."""
        print(f'$ tools/cloud.sh restart --set {override}', flush=True)
        if cloud_main.main(['restart', '--set', override]):
            raise SystemExit('Nova did not start again')

    def logged(self, pattern: str) -> str:
        """Shows the last line of Nova's log that matches *pattern*."""
        lines = self.cloud.log_file('nova').read_text().splitlines()
        matching = [line for line in lines if re.search(pattern, line)]
        if not matching:
            self.report.problem(f'nothing logged "{pattern}"')
            return ''
        text = matching[-1].split(' INFO ')[-1]
        print(f'$ grep -E "{pattern}" .cloud/log/nova.log | tail -1\n  {text}',
              flush=True)
        return text
