# SPDX-License-Identifier: Apache-2.0

"""Validators of the extra specs of nova-rt, for Nova's entry point.

Nova refuses an extra spec in its namespace ``hw:`` that has no validator.
``services.api.middleware`` checks extra specs that matter to each other.
"""

from nova.api.validation.extra_specs import base

from nova_rt.rules import mask
from nova_rt.rules import reservation
from nova_rt.rules import smt
from nova_rt.rules import soft
from nova_rt.rules import workload

_MILLISECONDS = r'[0-9]{1,6}(\.[0-9]{1,3})?'


def register() -> list[base.ExtraSpecValidator]:
    """Returns the validators.

    Nova calls this function by its entry point
    ``nova.api.extra_spec_validators``.
    """
    return [
        base.ExtraSpecValidator(
            name=reservation.FLAVOR_PREFIX + reservation.RUNTIME_KEY,
            description=(
                'The CPU time, in microseconds, that each vCPU of the server '
                'gets in every period (``hw:cpu.rt_period_us``). The runtime '
                'is at most the period.'),
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
                'With 0 the flavor takes no hints.'),
            value={'type': str, 'pattern': reservation.SHARE_PATTERN}),
        *(base.ExtraSpecValidator(
            name=name,
            description=(
                f'The {which} share (runtime / period) of a vCPU, above 0 and '
                f'at most 1, that ``nova-rt advise --apply`` may give a '
                f'server of this flavor.'),
            value={'type': str, 'pattern': reservation.SHARE_PATTERN})
          for name, which in ((reservation.AUTO_LEAST_KEY, 'smallest'),
                              (reservation.AUTO_MOST_KEY, 'largest'))),
        base.ExtraSpecValidator(
            name=reservation.AUTO_TARGET_KEY,
            description=(
                'The response time, in milliseconds, that '
                '``nova-rt advise --apply --all`` keeps for servers of the '
                'flavor, by changes of their reservations.'),
            value={'type': str, 'pattern': _MILLISECONDS}),
        base.ExtraSpecValidator(
            name=reservation.AUTO_PERCENTILE_KEY,
            description=(
                'The part of the requests that must be answered within '
                '``hw:cpu.rt_auto_target_ms``, between 0 and 1. The default '
                'is 0.99.'),
            value={'type': str, 'pattern': reservation.SHARE_PATTERN}),
        base.ExtraSpecValidator(
            name=reservation.MASK_KEY,
            description=(
                'The vCPUs that the CPU reservation of the flavor is for, for '
                'example ``^0`` for every vCPU but the first one, or ``1-3``. '
                'The other vCPUs have no reservation. Without this extra spec '
                'the reservation is for every vCPU.'),
            value={'type': str, 'pattern': mask.PATTERN}),
        base.ExtraSpecValidator(
            name=reservation.SMT_KEY,
            description=(
                'With ``core``, servers with the CPU reservation of the '
                'flavor only go to hosts that count the reservations on all '
                'threads of a core as one sum, or whose cores have one '
                'thread.'),
            value={'type': str, 'enum': [*map(str, smt.VALUES)]}),
        base.ExtraSpecValidator(
            name=reservation.KIND_KEY,
            description=(
                'With ``soft``, each vCPU gets at least the CPU reservation '
                'of the flavor, and also the CPU time that nobody has '
                'reserved on its pCPU. With ``hard``, the default, the '
                'reservation is also a limit.'),
            value={'type': str, 'enum': [*map(str, soft.Kind)]}),
        base.ExtraSpecValidator(
            name=reservation.FLAVOR_PREFIX + workload.TYPE_KEY,
            description=(
                'The type of network function that the server runs, by its '
                'name in the interference matrix of nova-scheduler, which '
                'says which types disturb each other.'),
            value={'type': str, 'pattern': workload.TYPE_PATTERN}),
        base.ExtraSpecValidator(
            name=reservation.FLAVOR_PREFIX + workload.CLASS_KEY,
            description=(
                'How the server uses its CPUs. If the server has no '
                'reservation, nova-scheduler prefers hosts whose size suits '
                'the class.'),
            value={'type': str, 'enum': [
                str(app_class) for app_class in workload.AppClass]}),
    ]
