# SPDX-License-Identifier: Apache-2.0

"""Finds the packing policy of this host, in its aggregates or the option.

The policy is not part of the capacity: whoever fits a reservation gives the
policy to the fit function.  The host publishes the name with its map, so that
the scheduler uses the same policy as the claim.
"""

import dataclasses
from typing import Any

from nova import objects
from oslo_log import log as logging

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import packing
from nova_rt.rules.packing import policies

LOG = logging.getLogger(__name__)

#: The key in the metadata of a host aggregate.
KEY = 'nova_rt:packing_policy'


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """A packing policy with its name.

    :ivar reason: why the host takes no reservations; '' if it takes them
    """

    name: str
    choose: cpus.Policy = policies.worst_fit
    reason: str = ''


def load(name: str) -> cpus.Policy:
    """Returns the packing policy of the option.

    :raises InvalidConfiguration: when no policy has this name
    """
    try:
        return packing.load(name)
    except LookupError as error:
        raise exception.InvalidConfiguration(
            option='packing_policy', value=name, rule=str(error)) from error


def of_option(conf: Any) -> Policy:
    """Returns the policy of ``[nova_rt] packing_policy``.

    :raises InvalidConfiguration: when no policy has this name
    """
    name = conf.nova_rt.packing_policy
    return Policy(name, load(name))


def of_host(context: Any, host: str, conf: Any, before: Policy) -> Policy:
    """Returns the policy of a host, and logs a change.

    :param before: the policy that the host has now, which stays if the
        aggregates cannot be read
    """
    try:
        policy = _of_aggregates(objects.AggregateList.get_by_host(
            context, host, key=KEY), of_option(conf))
    except Exception as error:
        LOG.warning('The aggregates of this host cannot be read, so its '
                    'packing policy stays %s: %s', before.name, str(error))
        return before
    if policy.reason and policy != before:
        LOG.error('This host takes no new CPU reservations: %s.',
                  policy.reason)
    elif policy != before:
        LOG.info('CPU reservations: pCPUs are chosen by %s now.', policy.name)
    return policy


def _of_aggregates(aggregates: Any, default: Policy) -> Policy:
    """Returns the policy of aggregates; *default* if they name none."""
    by_name = {each.metadata[KEY]: each.name for each in aggregates
               if KEY in each.metadata}
    if not by_name:
        return default
    name = min(by_name)
    if len(by_name) > 1:
        return Policy(name, reason=(
            f'its host aggregates disagree about {KEY} ('
            + ', '.join(f'{aggregate}: {value}' for value, aggregate
                        in sorted(by_name.items()))
            + '); give it the same value in all of them'))
    try:
        return Policy(name, packing.load(name))
    except LookupError as error:
        return Policy(name, reason=(
            f'the host aggregate {by_name[name]} has {KEY}={name}, but '
            f'{error}; install the policy here or correct the metadata'))
