# SPDX-License-Identifier: Apache-2.0

"""Reservations and loads for property tests."""

from hypothesis import strategies as st

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load


@st.composite
def reservations(draw):
    period = draw(st.integers(100, 1_000_000))
    return rt_reservation.Reservation(
        draw(st.integers(max(2, period // 20), period)), period)


@st.composite
def cases(draw, least=0.01, most=0.9, requests=(0.01, 100)):
    """A reservation and a load that uses a part of it.

    :param requests: that a whole CPU serves in a period, from and to
    """
    reservation = draw(reservations())
    rate = (draw(st.floats(*requests)) / reservation.period_us
            * rt_load.US_PER_S)
    return reservation, rt_load.Load(
        rate * reservation.share * draw(st.floats(least, most)), rate)
