# SPDX-License-Identifier: Apache-2.0

"""The results that the paper reports, to compare with measurements here."""

import dataclasses

#: The paper's period in all experiments, in us.
PERIOD_US = 2000
#: The intervals in us.  The paper has 11 points from 100 us to 5 ms, but does
#: not list them, so this list is ours.
INTERVALS_US = (100, 200, 300, 400, 500, 750, 1000, 2000, 3000, 4000, 5000)


@dataclasses.dataclass(frozen=True, slots=True)
class Errors:
    """The errors of the paper's model at its points: RMSE in us, MAPE in %."""

    mean_rmse: float
    mean_mape: float
    p99_rmse: float
    p99_mape: float

    def mape(self, statistic: str) -> float:
        """Returns the MAPE of a statistic."""
        return self.mean_mape if statistic == 'mean' else self.p99_mape


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A row of Table 3.

    :ivar size: bytes of a request
    :ivar load: CPU time of a request over the interval between two
    :ivar share: Q / P
    """

    size: int
    load: float
    share: float
    errors: Errors


TABLE3 = (
    Row(128, 0.5, 0.8, Errors(171.53, 5.41, 2195, 8.79)),
    Row(128, 0.7, 0.9, Errors(515.24, 5.02, 3477.3, 9.57)),
    Row(128, 0.8, 0.9, Errors(2995.3, 10.37, 18875, 15.71)),
    Row(2048, 0.5, 0.8, Errors(198.6, 8.01, 1363.7, 6.75)),
    Row(2048, 0.7, 0.9, Errors(657.88, 5.57, 6938.3, 15.93)),
    Row(2048, 0.8, 0.9, Errors(2251.2, 13.01, 14528, 21.26)),
)

#: Fig. 8: the 99th percentiles in us, by (scheduler, with noise).
FIG8 = {('fair', False): 980, ('fair', True): 10614,
        ('reservation', False): 1287, ('reservation', True): 1268}
