# SPDX-License-Identifier: Apache-2.0

"""Reads the policy ResponseTime, which turns a target into a runtime.

The model is the model of ``nova-rt plan``: requests arrive and are served at
random (M/M/1), the rates are rates of one vCPU, and the target is met whatever
else runs on its pCPU.  The kernel is not known, so the module assumes a kernel
that charges budgets by a timer under EDF (``cbs``).
"""

from collections.abc import Callable
import dataclasses
import math
from typing import Any

from nova_rt.rules import defaults
from nova_rt.rules import exception as rt_exception
from rt_models.model import contended
from rt_models.model import load as rt_load

from tacker_rt import problem
from tacker_rt.vnfd import inputs as tosca_inputs
from tacker_rt.vnfd import statements


@dataclasses.dataclass(frozen=True, slots=True)
class _Property:
    """A property of the policy.

    :ivar check: raises InvalidLoad when a value is not valid
    :ivar advice: what to do about a wrong value
    :ivar default: None if the property is required
    """

    check: Callable[[float], object]
    advice: str
    default: float | None = None


def _positive(value: float) -> None:
    rt_load.check_positive('', value)


_ANY_PERIOD_US = 1_000_000
_PROPERTIES = {
    'target_us': _Property(_positive, 'give for example 10000 for 10 ms'),
    'percentile': _Property(rt_load.check_percentile,
                            'give for example 0.99', 0.99),
    'service_rate_hz': _Property(
        _positive,
        'give the number of requests that a whole CPU serves in a second'),
    'arrival_rate_hz': _Property(
        _positive,
        'give the number of requests that one vCPU gets in a second'),
    'network_delay_us': _Property(
        lambda value: rt_load.Network(delay_us=value),
        'give the delay in one direction', 0.0),
    'max_share': _Property(
        lambda value: rt_load.largest_runtime_us(_ANY_PERIOD_US, value),
        f'give for example {defaults.MAX_SHARE}', defaults.MAX_SHARE),
}
_FORM = statements.Form(statements.StatementSource.POLICY,
                        {statements.PERIOD: 'period_us'}, open=False)


def read(place: problem.Place, properties: dict[Any, Any],
         inputs: tosca_inputs.Inputs) -> statements.Statement | None:
    """Returns the smallest runtime that meets the target, and the period.

    :returns: None if there is no such runtime or a value is wrong, with the
        problems in *place*
    """
    before = len(place.problems)
    statements.check_names(place, _FORM, properties, _PROPERTIES)
    values = {key: _value(place, key, properties, inputs)
              for key in _PROPERTIES}
    period = statements.read_number(place, _FORM, statements.PERIOD,
                                    properties, inputs.known_value)
    if len(place.problems) > before or not isinstance(period, int):
        return None
    try:
        runtime = contended.smallest_runtime_us(
            rt_load.Load(values['arrival_rate_hz'],
                         values['service_rate_hz']),
            rt_load.Target(values['target_us'], values['percentile']),
            period, values['max_share'],
            rt_load.Network(values['network_delay_us']))
    except rt_exception.NoAnswer as error:
        place.add('target_us', properties['target_us'],
                  error.kwargs['reason'], 'allow more time, or send fewer '
                  'requests to one vCPU')
        return None
    return statements.Statement(
        statements.StatementSource.POLICY,
        {statements.RUNTIME: runtime, statements.PERIOD: period},
        place=place)


def _value(place: problem.Place, key: str, properties: dict[Any, Any],
           inputs: tosca_inputs.Inputs) -> float:
    """Returns a number for the model; NaN with the problem in *place*."""
    expected = _PROPERTIES[key]
    if key not in properties and expected.default is not None:
        return expected.default
    value = inputs.known_value(place, key, properties.get(key))
    if value is None:
        return math.nan
    if not isinstance(value, int | float) or isinstance(value, bool):
        place.add(key, value, 'the value must be a number', expected.advice)
        return math.nan
    least, most = rt_load.LEAST, rt_load.MOST
    if value != 0 and not least <= abs(value) <= most:
        place.add(key, value, f'the value must lie between {least:g} and '
                  f'{most:g}', expected.advice)
        return math.nan
    try:
        expected.check(value)
    except rt_exception.InvalidLoad as error:
        place.add(key, value, error.kwargs['rule'], expected.advice)
    return float(value)
