# SPDX-License-Identifier: Apache-2.0

"""Random sequences on each kernel, watched at each single write.

Each day has other sequences.  A failure prints its seed; NOVA_RT_SEED repeats
it.  NOVA_RT_SEQUENCES is a number of new ones.
"""

import errno
import random
import unittest

import testscenarios

from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import layout
from tests import seeds
from tests.unit.machine.kernel import base
from tests.unit.machine.kernel import host as rt_host

SEQUENCES = 150
OPERATIONS = 10
Claims = dict[layout.Layout, claims.RTClaim]
ERRORS = (errno.EINVAL, errno.EBUSY, errno.EPERM, errno.ENODEV, errno.EIO)


class Sequence:
    """One host, and what happens to it."""

    def __init__(self, kind: str, seed: int) -> None:
        self.chosen = random.Random(seed)  # noqa: S311 - not for secrets
        self.host = rt_host.Host(kind)

    def run(self) -> None:
        with self.host.time():
            for _ in range(OPERATIONS):
                self._step()
                self.host.check()
                self.host.kernel.clock.sleep(self.chosen.choice((0, 0.01, 2)))
            for guest in list(self.host.present):
                self.host.release(guest)
            self.host.settle()
            self.host.check()

    def _step(self) -> None:
        guest = self.chosen.choice(rt_host.GUESTS)
        kind = self.chosen.choices(
            ('apply', 'again', 'release', 'remove', 'settle', 'restart'),
            (45, 8, 15, 12, 8, 4))[0]
        if kind == 'apply':
            self._apply(guest)
        elif kind == 'again' and guest in self.host.claims:
            late, self.host.tries = self.host.held_late, 0
            self.host.apply(guest, self.host.claims[guest])
            assert late or not self.host.tries, 'the same again writes'
        elif kind == 'release' and guest in self.host.present:
            self._release(guest)
        elif kind == 'remove' and guest in self.host.present:
            self.host.remove(guest)
        elif kind == 'settle':
            self.host.settle()
        elif kind == 'restart':
            self.host.reconcile(dict(self.host.claims))

    def _fault(self) -> rt_host.Fault | None:
        dice = self.chosen.random()
        if dice < 0.6:
            return None
        number = 0 if dice < 0.8 else self.chosen.choice(ERRORS)
        return rt_host.Fault(self.chosen.randrange(7), number,
                             self.chosen.random() < 0.5)

    def _apply(self, guest: layout.Layout) -> None:
        host, before = self.host, dict(self.host.claims)
        claim = rt_host.random_claim(
            self.chosen, guest, host.kernel.cpus,
            host.interface.least_runtime_us())
        wanted = {**before, guest: claim}
        fits, late = host.fits(wanted), host.late
        fault = host.fault = self._fault()
        start, tries = len(host.kernel.written), host.tries
        try:
            host.apply(guest, claim)
        except rt_host.Killed:
            self._recover(wanted if fits and self.chosen.random() < 0.5
                          else before, before)
        except exception.KernelError:
            # A value that stands for 0, left by an earlier fault, counts.
            assert (not fits or (fault and fault.hit)
                    or base.has_tokens(host.kernel)), 'refused what fits'
        else:
            assert fits, 'took what does not fit'
            refused = host.tries - tries - len(host.kernel.written) + start
            assert late or (fault and fault.hit) or not refused, 'bad order'
        host.fault = None

    def _recover(self, wanted: Claims, before: Claims) -> None:
        """A new process finds one of the two; what it cannot, later."""
        try:
            self.host.reconcile(wanted)
        except exception.KernelError:
            assert base.has_tokens(self.host.kernel), 'refused what fits'
            self.host.reconcile(before)

    def _release(self, guest: layout.Layout) -> None:
        host, before = self.host, dict(self.host.claims)
        fault = host.fault = self._fault()
        try:
            host.release(guest)
        except rt_host.Killed:
            if self.chosen.random() < 0.5:
                before.pop(guest, None)
            host.reconcile(before)
        except exception.KernelError:
            assert fault and fault.hit, 'cannot be released'
        host.fault = None


class SequenceTest(testscenarios.WithScenarios, unittest.TestCase):
    """Nothing is ever above the cap, and what is left is what is claimed."""

    scenarios = base.SCENARIOS
    kind: str

    def test_random_sequences(self) -> None:
        for seed in seeds.seeds_of_the_day(self.id(), SEQUENCES):
            sequence = Sequence(self.kind, seed)
            with rt_host.explained(
                    sequence.host, f'NOVA_RT_SEED={seed} on {self.kind}'):
                sequence.run()
