# SPDX-License-Identifier: Apache-2.0

"""Brings a cloud up; the next classes that need the same cloud share it."""

import atexit
from collections.abc import Callable
import functools
import json
import os
import pathlib
import re
import subprocess
import time

from cloud import kvm
from cloud import processes  # noqa: F401
from cloud import qemu_images
from cloud import sdk
from cloud import settings
from demo import groups
from demo import guests
from demo import host
from demo import measure  # noqa: F401
import openstack
from openstack import exceptions
from oslotest import base

from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import fs
from nova_rt.machine import privsep
from nova_rt.rules import cpulist
from nova_rt.rules import hostmap
from nova_rt.services.compute import claims
from tests.cloud import forked

PROJECT = pathlib.Path(__file__).parents[2]
PATIENCE = int(settings.patience(120))
RAM_MIB = {'lxc': 64, 'qemu': 96, 'kvm': 96}


def cloud(*arguments: str) -> None:
    """Runs tools/cloud.sh; shows its output only if the command fails."""
    done = subprocess.run(
        [PROJECT / 'tools' / 'cloud.sh', *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f'cloud.sh {arguments}:\n{done.stdout}')


#: The kind of guests and the settings of the cloud that is up; at most one
#: pair.
_up: list[tuple[str, tuple[str, ...]]] = []


def bring_up(guest: str, overrides: tuple[str, ...]) -> None:
    """Brings a cloud with these settings up, if none is up already.

    The start of a cloud takes as long as two tests.
    """
    if _up == [(guest, overrides)]:
        return
    _end_with_the_tests()
    if _up:
        _up.clear()
        cloud('down', '--keep-logs')
    cloud('up', '--guest', guest,
          *(f'--set={setting}' for setting in overrides))
    _up.append((guest, overrides))


@functools.cache
def _end_with_the_tests() -> None:
    atexit.register(cloud, 'down', '--keep-logs')


def lacking(guest: str, budgets: bool = True) -> str:
    """Returns what this machine lacks; '' if it lacks nothing."""
    if os.geteuid():
        return 'the embedded cloud needs root'
    if budgets and not groups.has_budgets():
        return 'the kernel has no budgets for groups'
    if guest == 'qemu' and not qemu_images.KERNEL.exists():
        return 'there is no kernel for virtual machines here'
    return _lacks_kvm() if guest == 'kvm' else ''


def _lacks_kvm() -> str:
    reason = kvm.lacking()
    return reason and (
        f'{reason} The lab can run KVM guests: tools/lab.sh debian:13 --kvm '
        '--cpus 2 --memory 4096 --icount --timeout 7200 life-kvm')


def take(group: pathlib.Path, runtime_us: int) -> None:
    """Leaves a group this runtime only, without telling nova-compute."""
    _, period_us = groups.budget(group)
    maximum = group / 'cpu.rt.max'
    if maximum.exists():
        maximum.write_text(f'{runtime_us} {period_us}\n')
    else:
        (group / 'cpu.rt_runtime_us').write_text(f'{runtime_us}\n')


def _below(group: pathlib.Path) -> list[pathlib.Path]:
    return [path for path in group.iterdir() if path.is_dir()]


def _ppm(group: pathlib.Path) -> int:
    runtime_us, period_us = groups.budget(group)
    return -(-runtime_us * 1_000_000 // max(1, period_us))


class CloudTestCase(base.BaseTestCase):
    """A cloud that is up, and its admin."""

    TIMEOUT_SCALING_FACTOR = 4
    GUEST = 'lxc'
    #: SECTION.OPTION=VALUE, besides the settings that the cloud has by itself
    SETTINGS: tuple[str, ...] = ()
    #: whether the kernel must have budgets for groups
    BUDGETS = True

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        reason = lacking(cls.GUEST, cls.BUDGETS)
        if reason:
            cls.skipTest(cls, reason)
        cls.bring_up()

    @classmethod
    def bring_up(cls) -> None:
        bring_up(cls.GUEST, cls.SETTINGS)

    def setUp(self) -> None:
        super().setUp()
        self.settings = settings.load()
        self.cloud = sdk.connect(self.settings, compute_api_version='2.96')

    def flavor(self, runtime: int = 100_000, period: int = 200_000,
               vcpus: int = 1, **more: str) -> str:
        """Makes a flavor with a reservation; returns its id."""
        found = self.cloud.compute.create_flavor(
            name=self.getUniqueString(), ram=RAM_MIB[self.GUEST],
            vcpus=vcpus, disk=0)
        self.addCleanup(self.cloud.compute.delete_flavor, found)
        self.cloud.compute.create_flavor_extra_specs(found, {
            'hw:cpu.rt_runtime_us': str(runtime),
            'hw:cpu.rt_period_us': str(period), **more})
        return str(found.id)

    def pools(self) -> int:
        """Returns how many pCPUs count their reservations apart."""
        [stats] = host.published(self.settings)
        found = json.loads(stats[hostmap.MAP])
        return 1 if found['replicated'] else len(
            cpulist.parse_ids(found['cpus']))

    def boot(self, flavor: str, hints: dict[str, object] | None = None,
             wanted: str = 'ACTIVE', image: str = ''
             ) -> openstack.compute.v2.server.Server:
        """Returns a server in state *wanted*; its image is busy by default."""
        server = self.begin(flavor, hints, image)
        if wanted == 'ACTIVE':
            return self._active(server)
        return self.cloud.compute.wait_for_server(
            server, status=wanted, failures=[], wait=PATIENCE, interval=0.1)

    def busy(self, flavor: str, hints: dict[str, object] | None = None
             ) -> openstack.compute.v2.server.Server:
        """Returns a server that has booted and wants all CPU time."""
        server = self.boot(flavor, hints)
        line = guests.KINDS[self.GUEST].console
        if line:
            self.eventually('its line on the console', lambda: re.search(
                line, self.console(server)))
        return server

    def begin(self, flavor: str, hints: dict[str, object] | None = None,
              image: str = '') -> openstack.compute.v2.server.Server:
        """Requests a server, which is deleted at the end of the test."""
        found = self.cloud.image.find_image(
            image or guests.KINDS[self.GUEST].image, ignore_missing=False)
        server = self.cloud.compute.create_server(
            name=self.getUniqueString(), flavor_id=flavor,
            image_id=found.id, networks='none',
            **({'scheduler_hints': hints} if hints else {}))
        self.addCleanup(self.delete, server)
        return server

    def _active(self, server: openstack.compute.v2.server.Server
                ) -> openstack.compute.v2.server.Server:
        # The client believes the state in *server*, which may be old: a server
        # that reboots was ACTIVE before.
        now = self.cloud.compute.get_server(server)
        try:
            return self.cloud.compute.wait_for_server(
                now, wait=PATIENCE, interval=0.1)
        except exceptions.ResourceFailure:
            fault = self.cloud.compute.get_server(server).fault
            raise self.failureException(
                f'{server.name} did not start: {fault["message"]}\n'
                f'{self._last_words(server)}') from None

    def _last_words(self, server: openstack.compute.v2.server.Server) -> str:
        """Returns what nova-compute logged of a server that did not start."""
        lines = self.settings.log_file('nova').read_text().splitlines()
        return '\n'.join([line for line in lines if server.id in line and (
            ' ERROR ' in line or ' WARNING ' in line)][:10])[:4000]

    def delete(self, server: openstack.compute.v2.server.Server) -> None:
        self.cloud.compute.delete_server(server, ignore_missing=True)
        self.cloud.compute.wait_for_delete(server, wait=PATIENCE,
                                           interval=0.1)

    def on_host(self, server: openstack.compute.v2.server.Server
                ) -> host.Server:
        """Returns the same server as the host has it."""
        return next(found for found in host.servers(self.settings)
                    if found.name == server.name)

    def claim(self, server: openstack.compute.v2.server.Server
              ) -> claims.RTClaim:
        held = self.on_host(server).claim
        assert held is not None
        return held

    def console(self, server: openstack.compute.v2.server.Server) -> str:
        return str(self.cloud.compute.get_server_console_output(
            server)['output'])

    def hard_reboot(self, server: openstack.compute.v2.server.Server
                    ) -> host.Server:
        """Reboots a server; returns it as the host has it afterwards."""
        return self.reboot(server, 'HARD')

    def reboot(self, server: openstack.compute.v2.server.Server, kind: str
               ) -> host.Server:
        """Reboots a server, HARD or SOFT; returns it as its host has it."""
        before = self.on_host(server)
        wanted = before.kernel
        self.cloud.compute.reboot_server(server, kind)
        self.eventually('a new guest', lambda: self.on_host(
            server).group not in ('', before.group))
        self.eventually('its budget', lambda: self.on_host(
            server).kernel == wanted)
        self._active(server)
        return self.on_host(server)

    def eventually(self, what: str, condition: Callable[[], object]
                   ) -> None:
        """Polls until *condition* is true."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f'never: {what}')
            time.sleep(0.1)

    def assert_parent_holds_all(self) -> None:
        """Checks the budget of the top group, which holds all or the sum."""
        parent, root = map(groups.runtime, (host.MACHINE,
                                            host.MACHINE.parent))
        privsep.cgroup_pctxt.set_client_mode(False)
        interface = detect.detect(fs.RealFS())
        assert interface is not None
        self.assertEqual(root if interface.keeps_room('/machine') else
                         sum(map(_ppm, _below(host.MACHINE))), parent)

    def assert_in_step(self) -> None:
        """Checks that nova-rt-manage finds no difference."""
        status, said = forked.manage(
            self.settings.environment(), '--config-file',
            str(self.settings.nova_conf), 'check', '--kernel')
        self.assertEqual(0, status, said)

    def assert_nothing_remains(self) -> None:
        """Deletes all servers, and checks that nothing is left of them."""
        for server in self.cloud.compute.servers():
            self.delete(server)
        self.assert_nothing_left()
        self.assert_in_step()

    def assert_nothing_left(self) -> None:
        """Checks that there is no claim, no allocation and no budget."""
        # For the API a server is gone before Nova gives back what the server
        # held.
        nothing = (0, 0, (0, 0))
        for _ in range(10 * PATIENCE):
            left = self._left()
            if left == nothing:
                return
            time.sleep(0.1)
        self.assertEqual(nothing, left)

    def _left(self) -> tuple[int, int, tuple[int, int]]:
        """Returns the claims (ppm), the kernel's (us) and Placement's rest."""
        provider = next(self.cloud.placement.resource_providers())
        usages = self.cloud.placement.get(
            f'/resource_providers/{provider.id}/usages').json()['usages']
        return (host.charged(self.settings), host.budgets(),
                (usages['CUSTOM_RT_BANDWIDTH'], usages['CUSTOM_RT_SHARE']))
