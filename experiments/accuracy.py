# SPDX-License-Identifier: Apache-2.0

"""How far a model is from what was measured, as in the paper's Table 3."""

from collections.abc import Sequence
import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, slots=True)
class Errors:
    """Of a model at several points: RMSE in us, MAPE in per cent."""

    mean_rmse: float
    mean_mape: float
    p99_rmse: float
    p99_mape: float


def rmse(measured: Sequence[float], predicted: Sequence[float]) -> float:
    """Root mean squared error, in their unit."""
    return float(np.sqrt(np.mean(np.square(
        np.subtract(measured, predicted)))))


def mape(measured: Sequence[float], predicted: Sequence[float]) -> float:
    """Mean absolute percentage error: in per cent of what was measured."""
    return 100 * float(np.mean(np.abs(
        np.subtract(measured, predicted) / np.asarray(measured))))
