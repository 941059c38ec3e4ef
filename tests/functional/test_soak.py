# SPDX-License-Identifier: Apache-2.0

"""Thousands of random operations on many hosts, checked after each.

NOVA_RT_SEED repeats a run; what fails is printed as a short list.
"""

import contextlib
import functools
import logging
import os
import sys
import time
import traceback
from typing import Any

import fixtures
from nova.scheduler import host_manager
from nova.scheduler import request_filter

from nova_rt.machine.kernel import detect
from tests.emulation import clock
from tests.emulation import tasks as emulated
from tests.functional import guests
from tests.functional.soak import burst
from tests.functional.soak import hosts
from tests.functional.soak import moves
from tests.functional.soak import plan
from tests import seeds
from tests.unit import base

COUNT = int(os.environ.get('NOVA_RT_SOAK', '400'))
HOSTS = 20
SCHEDULERS = 3
#: To shrink a list that fails.
SECONDS = float(os.environ.get('NOVA_RT_SHRINK', '60'))


class CloudTest(base.TestCase):
    """Containers; on some hosts a budget is on every CPU."""

    VIRT_TYPE = 'lxc'
    KERNELS = ('F1', 'F2m', 'F5', 'F5-rootless')
    #: The NUMA cells of each host.
    CELLS = 0

    def setUp(self) -> None:
        super().setUp()
        self.config(available_filters=[
            'nova_rt.scheduler.filters.RTShareFilter'],
            enabled_filters=['RTShareFilter'],
            weight_classes=['nova_rt.scheduler.weights.RTShareWeigher'],
            group='filter_scheduler')
        self.config(virt_type=self.VIRT_TYPE, group='libvirt')
        self.config(hint_override='any', hints_on_plain_flavors=True,
                    group='nova_rt')
        self.clock = clock.Clock()
        self._isolate()
        self._emulate()
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def _isolate(self) -> None:
        for name, new in (
                ('nova.scheduler.request_filter.ALL_REQUEST_FILTERS', []),
                ('nova.scheduler.host_manager.HostManager.host_state_cls',
                 host_manager.HostManager.host_state_cls),
                ('nova.compute.utils.is_volume_backed_instance',
                 lambda *args: False),
                ('nova.virt.libvirt.driver.LibvirtDriver.__init__',
                 hosts.init),
                ('nova.virt.libvirt.driver.LibvirtDriver.'
                 'update_provider_tree', hosts.update_provider_tree)):
            self.useFixture(fixtures.MonkeyPatch(name, new))
        assert request_filter.ALL_REQUEST_FILTERS == []

    def _emulate(self) -> None:
        for name, new in (
                *emulated.THREADS.items(),
                ('nova_rt.machine.privsep.cgroup_pctxt.client_mode', False),
                ('nova_rt.machine.kernel.tree.time', self.clock),
                ('rt_hcbs.fragile.time', self.clock),
                ('nova_rt.machine.kernel.detect.installed',
                 functools.cache(detect.installed)),
                ('nova_rt.machine.kernel.tasks.Tasks', emulated.EmulatedTasks),
                ('nova_rt.machine.privsep.read_pid', guests.read_pid)):
            self.useFixture(fixtures.MonkeyPatch(name, new))

    def cloud(self, hosts: int) -> Any:
        """Returns a context manager with a cloud."""
        kernels = [self.KERNELS[number % len(self.KERNELS)]
                   for number in range(hosts)]
        return contextlib.closing(
            moves.Cloud(kernels, SCHEDULERS, self.clock, self.CELLS))

    @staticmethod
    def say(text: str) -> None:
        print(text, file=sys.__stderr__, flush=True)


class SoakTest(CloudTest):
    """All operations, in any order."""

    COUNT = COUNT
    HOSTS = HOSTS

    def run_all(self, operations: list[plan.Operation]) -> plan.Run:
        """:raises Exception: with the operation at which it happened"""
        with self.cloud(self.HOSTS) as cloud:
            run = plan.Run(cloud)
            for operation in operations:
                try:
                    run.do(operation)
                except Exception as error:
                    error.number = operation.number
                    raise
            run.finish()
        return run

    def test_soak(self) -> None:
        run = self.soak(seeds.seed_of_the_day())
        self.assertGreaterEqual(sum(run.done.values()),
                                self.COUNT * 2 // 3)

    def soak(self, seed: int) -> plan.Run:
        """One sequence of operations."""
        operations = plan.plan(seed, self.COUNT)
        started = time.monotonic()
        try:
            run = self.run_all(operations)
        except Exception as error:
            self.fail(self._story(seed, operations, error))
        self.say(f'NOVA_RT_SEED={seed}: {sum(run.done.values())} '
                 f'operations in {time.monotonic() - started:.0f} s: '
                 f'{run.done}, built at attempt {run.cloud.attempts}')
        return run

    def _story(self, seed: int, operations: list[plan.Operation],
               error: Exception) -> str:
        """Returns what fails, as a list that is short."""
        def fails(some: list[plan.Operation]) -> bool:
            try:
                self.run_all(some)
            except Exception as other:
                return _kind(other) == _kind(error)
            return False

        # None of those after it.
        number = getattr(error, 'number', operations[-1].number)
        operations = operations[:number + 1]
        short = plan.shrink(operations, fails, SECONDS)
        lines = '\n'.join(map(str, short))
        try:
            self.run_all(short)
        except Exception as last:
            error = last
        return (f'NOVA_RT_SEED={seed}: '
                f'{"".join(traceback.format_exception(error))}\n'
                f'{len(short)} of {len(operations)} operations do it:\n'
                f'{lines}')


class BurstTest(CloudTest):
    """200 creates at once onto 10 hosts that are nearly full."""

    HOSTS = 10
    REQUESTS = 200
    FULL = 0.8

    def burst(self, seed: int, flight: int) -> burst.Result:
        with self.cloud(self.HOSTS) as cloud:
            run = burst.Burst(cloud, seed)
            run.fill(self.FULL)
            found = run.run(self.REQUESTS, flight)
            plan.Run(cloud).finish()
        return found

    def test_burst(self) -> None:
        seed = seeds.seed_of_the_day()
        for flight in (16, self.REQUESTS):
            found = self.burst(seed, flight)
            self.say(f'NOVA_RT_SEED={seed}: {self.REQUESTS} creates, '
                     f'{flight} at once: {found}, of those that fit '
                     f'{found.share:.1%} are placed')
            self.assertEqual(self.REQUESTS, sum(found.placed.values())
                             + found.refused + found.gone + found.missed)


def _kind(error: Exception) -> tuple[type, str]:
    """Alike for failures of one cause, mostly."""
    words = [word for word in str(error).split() if word.isalpha()]
    return type(error), ' '.join(words[:4])
