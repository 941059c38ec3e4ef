# SPDX-License-Identifier: Apache-2.0

"""Checks of simulated servers whose budgets are charged at ticks."""

import hypothesis
from hypothesis import strategies as st
import numpy as np
from oslotest import base

from rt_models.model.simulator import rt_group
from rt_models.model.simulator import ticks
from rt_probe import check
from tests.unit import base as unit
from tests.unit.rt_probe import test_supply

_TICK_US = 4_000
_FEWER = hypothesis.settings(unit.PROPERTY, max_examples=30)
_ANY = {'period_us': st.sampled_from([10_000, 20_000, 100_000]),
        'phase': st.floats(0, _TICK_US), 'start': st.floats(2, 20)}


def known(share, period_us):
    """Returns a check of an estimate whose interval is 5 % wide below."""
    return check.Check(share, 0.95 * share, 1000 * period_us,
                       1000 * _TICK_US)


def seen(share, of, phase, start):
    """Returns the verdict on a server with this share, and its periods."""
    period_us = of.period_ns // 1000
    trace, = rt_group.simulate(
        [test_supply.server(share, period_us)],
        ticks.Ticks(_TICK_US, phase), until_us=60 * period_us)
    times = np.arange(start * period_us, 60 * period_us, 200)
    received = trace.received_us(times)
    for at, used in zip(times - times[0], received - received[0],
                        strict=True):
        found = of.verdict(round(1000 * used), round(1000 * at))
        if found is not None:
            return found, at / period_us
    return None, None


class CheckTest(base.BaseTestCase):

    @_FEWER
    @hypothesis.given(share=st.floats(0.2, 0.9), **_ANY)
    def test_what_stays_stands(self, share, period_us, phase, start):
        found, _ = seen(share, known(share, period_us), phase, start)
        self.assertTrue(found)

    @_FEWER
    @hypothesis.given(share=st.floats(0.2, 0.9), part=st.floats(0.1, 0.5),
                      **_ANY)
    def test_half_of_it_has_fallen(self, share, part, period_us, phase,
                                   start):
        found, _ = seen(part * share, known(share, period_us), phase, start)
        self.assertIs(False, found)

    @_FEWER
    @hypothesis.given(**_ANY)
    def test_few_periods_are_enough(self, period_us, phase, start):
        """A share of 0.6 has fallen to 0.3, or has stayed."""
        of = known(0.6, period_us)
        for share in (0.6, 0.3):
            _, periods = seen(share, of, phase, start)
            self.assertLess(periods, 8)

    def test_too_early(self):
        of = known(0.6, 10_000)
        self.assertIsNone(of.verdict(1_000_000, 1_000_000))
        self.assertIsNone(of.verdict(0, 0))
