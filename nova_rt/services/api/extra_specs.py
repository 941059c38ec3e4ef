# SPDX-License-Identifier: Apache-2.0

"""Validators of our flavor extra specs, for Nova's entry point.

``hw:`` is a name space Nova knows, so without these it refuses our keys.
What two keys mean together is checked in ``nova_rt.services.api.middleware``.
"""

from nova.api.validation.extra_specs import base

from nova_rt.rules import reservation
from nova_rt.rules import workload


def register() -> list[base.ExtraSpecValidator]:
    """For the entry point ``nova.api.extra_spec_validators``."""
    return [
        base.ExtraSpecValidator(
            name=reservation.FLAVOR_PREFIX + reservation.RUNTIME_KEY,
            description=(
                'The CPU time, in microseconds, reserved for each vCPU of '
                'the server in every ``hw:cpu.rt_period_us``. At most the '
                'period.'),
            value={'type': int, 'min': reservation.MIN_RUNTIME_US,
                   'max': reservation.MAX_PERIOD_US}),
        base.ExtraSpecValidator(
            name=reservation.FLAVOR_PREFIX + reservation.PERIOD_KEY,
            description=(
                'The period, in microseconds, of the CPU reservation '
                '``hw:cpu.rt_runtime_us``.'),
            value={'type': int, 'min': reservation.MIN_RUNTIME_US,
                   'max': reservation.MAX_PERIOD_US}),
        base.ExtraSpecValidator(
            name=reservation.HINT_SHARE_KEY,
            description=(
                'The largest share (runtime / period) of a vCPU that '
                'scheduler hints may ask for with this flavor, from 0 to 1. '
                '0: it takes no hints.'),
            value={'type': str, 'pattern': reservation.SHARE_PATTERN}),
        base.ExtraSpecValidator(
            name=reservation.FLAVOR_PREFIX + workload.TYPE_KEY,
            description=(
                'The type of network function that the server runs, as the '
                'matrix of nova-scheduler names it: who disturbs whom.'),
            value={'type': str, 'pattern': workload.TYPE_PATTERN}),
        base.ExtraSpecValidator(
            name=reservation.FLAVOR_PREFIX + workload.CLASS_KEY,
            description=(
                'How the server uses its CPUs: the size of the host that '
                'suits it, where it has no reservation.'),
            value={'type': str, 'enum': [
                str(each) for each in workload.AppClass]}),
    ]
