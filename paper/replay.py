# SPDX-License-Identifier: Apache-2.0

"""Repeats the requests of a run in the simulator.

Unlike the errors of the models, differences between the run and the simulator
are not chance: they show where the kernel and the machine differ from the
assumptions.
"""

import numpy as np
import numpy.typing as npt

from nova_rt.rules import reservation as rt_reservation
from paper import samples
from rt_models.model.simulator import lone
from rt_models.model.simulator import traffic

_BITS = 8


def responses_us(found: samples.Samples,
                 reservation: rt_reservation.Reservation, megabits: float
                 ) -> npt.NDArray[np.float64]:
    """Returns the response time of each request, without the round trip.

    :param megabits: the bandwidth of the link in Mb/s; may be infinite
    """
    sending = lone.responses_us(traffic.Arrivals(
        found.sent_us, _BITS * found.sizes / megabits), 1.0, 1.0)
    serving = lone.responses_us(
        traffic.Arrivals(found.sent_us + sending, found.works_us),
        reservation.runtime_us, reservation.period_us)
    return np.asarray(sending + serving)
