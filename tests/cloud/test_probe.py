# SPDX-License-Identifier: Apache-2.0

"""The bundle of rt-probe in a container made of namespaces alone."""

import json
import os
import pathlib
import subprocess
import sys
import time

import ddt
import fixtures
from oslotest import base

from paper.probe import stage as rt_stage
from rt_probe import bundle
from tests.full.probe import campaign
from tests.full.probe import cells
from tests.full.probe import places
from tests import seeds

#: The probe shares the PID namespace of the VNF, as a container of a pod may.
_CONTAINER = ('unshare', '--mount', '--cgroup', 'sh', '-c', places.INSIDE,
              'sh')
SHARE, PERIOD_US = 0.2, 50_000
_SECONDS = 30


@ddt.ddt
class ContainerTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        if os.geteuid() or not pathlib.Path(
                '/sys/fs/cgroup/cpuacct/cpuacct.usage').exists():
            self.skipTest('needs root, and cgroup v1')
        self.bundle = self.useFixture(fixtures.TempDir()).join('probe.pyz')
        bundle.write(self.bundle)

    def once(self, stage, *options):
        done = subprocess.run(
            [*stage.inside, *_CONTAINER, sys.executable, '-I', '-S',
             self.bundle, 'once', *options],
            stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    @ddt.data(rt_stage.QUOTA, rt_stage.BUDGET)
    def test_busy(self, kind):
        """The probe's interval contains the share that is read outside."""
        with rt_stage.Stage(kind).up() as stage, rt_stage.task(
                cpus=stage.cpus) as vnf:
            stage.reserve(SHARE, PERIOD_US)
            stage.enter(vnf, SHARE, PERIOD_US)
            said = self.once(stage, '--interval', '1')
            truth = rt_stage.truth(stage, 1, PERIOD_US)
        self.assertEqual(('throttled', PERIOD_US),
                         (said['method'], said['period_us']), said)
        self.assertLessEqual(said['lower'], truth, said)
        self.assertGreaterEqual(said['upper'], truth, said)

    @ddt.data(rt_stage.QUOTA, rt_stage.BUDGET)
    def test_idle(self, kind):
        """Bursts find what a busy loop gets right after."""
        with rt_stage.Stage(kind).up() as stage:
            stage.reserve(SHARE, PERIOD_US)
            said = self.once(stage, '--burst', 'idle')
            with rt_stage.task(cpus=stage.cpus) as vnf:
                stage.enter(vnf, SHARE, PERIOD_US)
                truth = rt_stage.truth(stage, 1, PERIOD_US)
        self.assertEqual('burst', said['method'], said)
        self.assertLessEqual(said['lower'], truth, said)
        self.assertGreaterEqual(said['upper'], truth, said)

    @ddt.data('container without a limit', 'nested', 'split hierarchies')
    def test_truth_or_bound(self, name):
        """A sample of the campaign ``python -m tests.full.probe``."""
        seed = seeds.seed_of_the_day()
        found = campaign.run(cells.CELLS[name], seed, self.bundle)
        self.assertEqual('', found.wrong, (seed, found))

    def test_sigterm_ends_a_burst(self):
        with rt_stage.Stage(rt_stage.QUOTA).up() as stage:
            stage.reserve(SHARE, PERIOD_US)
            with subprocess.Popen(
                    [*stage.inside, sys.executable, '-I', '-S', self.bundle,
                     'run', '--interval', '0.05', '--burst', 'idle',
                     '--max-load', '0.5'],
                    stdout=subprocess.DEVNULL) as process:
                end = time.monotonic() + _SECONDS
                while not (bursts := self.children(process.pid)):
                    self.assertIsNone(process.poll())
                    self.assertLess(time.monotonic(), end, 'no burst')
                process.terminate()
        self.assertEqual(0, process.returncode)
        for burst in bursts:
            self.assertFalse(os.path.exists(f'/proc/{burst}'))

    @staticmethod
    def children(pid):
        path = pathlib.Path(f'/proc/{pid}/task/{pid}/children')
        return path.read_text().split()
