# SPDX-License-Identifier: Apache-2.0

"""The requests of a run again, in the simulator.

What differs from the run is not chance, as with the models, but what the
kernel and the machine do otherwise than assumed.
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
    """The response time of each request, without the way there and back.

    :param megabits: of the link that requests queue for; may be infinite
    """
    sending = lone.responses_us(traffic.Requests(
        found.sent_us, _BITS * found.sizes / megabits), 1.0, 1.0)
    serving = lone.responses_us(
        traffic.Requests(found.sent_us + sending, found.works_us),
        reservation.runtime_us, reservation.period_us)
    return np.asarray(sending + serving)
