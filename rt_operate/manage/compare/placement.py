# SPDX-License-Identifier: Apache-2.0

"""Compares the claims on a host with its allocations and inventories."""

from collections.abc import Iterator, Mapping

from nova_rt.rules import hostmap
from rt_operate.manage.compare import remedies
from rt_operate.manage import snapshot

#: The fields of an inventory that are compared; the others never differ.
_SIZES = ('total', 'reserved', 'max_unit', 'allocation_ratio')


def compare(host: snapshot.HostSnapshot) -> Iterator[snapshot.Difference]:
    """Yields the differences between the claims on a host and Placement."""
    if host.allocations is None:
        if host.published is not None:
            yield snapshot.Difference(
                'provider.missing', host.name, '', f'Placement has no '
                f'resource provider {host.provider}', 'a provider for this '
                'compute node', remedies.AUDIT)
        return
    yield from _inventories(host)
    here = {holding.consumer for holding in host.holdings}
    for holding in host.holdings:
        if not holding.moving and not _is_unknown(holding):
            yield from _holding(host, holding)
    for consumer in sorted(set(host.allocations) - here):
        yield from _other(host, consumer)


def _ours(amounts: snapshot.Amounts) -> dict[str, int]:
    return {name: amounts[name] for name in hostmap.CLASSES
            if amounts.get(name)}


def _describe(amounts: snapshot.Amounts) -> str:
    return ' and '.join(f'{amount} of {name}' for name, amount
                        in amounts.items()) or 'none of these classes'


# Allocations.

def _is_unknown(holding: snapshot.Holding) -> bool:
    """Tells whether the right allocation of a holding is unknown."""
    return bool(holding.unreadable
                or (holding.trouble and not holding.claims))


def _holding(host: snapshot.HostSnapshot, holding: snapshot.Holding
             ) -> Iterator[snapshot.Difference]:
    allocations = (host.allocations or {}).get(holding.consumer, {})
    amounts, wanted = _ours(allocations), _wanted(holding)
    if amounts == wanted:
        return
    purpose = ('' if holding.current
               else f' for its migration {holding.consumer}')
    remedy, repair = _repair(host, holding, wanted, bool(allocations))
    if not holding.claims and holding.wanted is not None:
        if not amounts:
            return  # The missing claim is a difference of its own.
        remedy, repair = remedies.MOVE, None
    yield snapshot.Difference(
        'allocation.amount' if amounts else 'allocation.missing',
        host.name, holding.server,
        f'Placement holds {_describe(amounts)}{purpose}', _describe(wanted),
        remedy, repair)


def _wanted(holding: snapshot.Holding) -> dict[str, int]:
    """Returns the amounts of Placement's classes that a holding needs."""
    amounts: dict[str, int] = {}
    pairs = [(len(claim.cpus), claim.reservation.bandwidth)
             for claim in holding.claims]
    if not pairs and holding.wanted is not None:
        pairs = [(holding.reserved, holding.wanted.bandwidth)]
    for vcpus, bandwidth in pairs:
        for name, amount in hostmap.amounts(vcpus, bandwidth).items():
            amounts[name] = amounts.get(name, 0) + amount
    return amounts


def _repair(host: snapshot.HostSnapshot, holding: snapshot.Holding,
            wanted: snapshot.Amounts, has_others: bool
            ) -> tuple[str, snapshot.Repair | None]:
    if has_others:
        return remedies.HEAL, _set(host, holding.consumer, wanted)
    # Nova would take an allocation of our classes alone for complete.
    return (remedies.NOVA_HEAL.format(holding.server) if holding.current
            else remedies.CONFIRM), None


def _set(host: snapshot.HostSnapshot, consumer: str, wanted: snapshot.Amounts
         ) -> snapshot.Repair:
    return snapshot.Repair(consumer, host.provider, tuple(
        (name, wanted.get(name, 0)) for name in hostmap.CLASSES))


def _other(host: snapshot.HostSnapshot, consumer: str
           ) -> Iterator[snapshot.Difference]:
    """Compares the allocation of a consumer that is not on this host."""
    amounts = _ours((host.allocations or {})[consumer])
    fate = host.fates.get(consumer, snapshot.Fate.EXPECTED)
    if not amounts or fate is snapshot.Fate.EXPECTED:
        return
    gone = fate is snapshot.Fate.GONE
    yield snapshot.Difference(
        'allocation.leaked' if gone else 'allocation.elsewhere',
        host.name, consumer,
        f'Placement holds {_describe(amounts)}, but {fate.value}',
        _describe({}),
        remedies.HEAL if gone
        else remedies.NOVA_AUDIT.format(host.provider),
        _set(host, consumer, {}) if gone else None)


# Inventories.

def _inventories(host: snapshot.HostSnapshot) -> Iterator[snapshot.Difference]:
    if host.published is None:
        if host.inventories:
            yield snapshot.Difference(
                'inventory.stale', host.name, '', 'Placement has inventories '
                'of the share of the host, but the host publishes no map of '
                'its pCPUs',
                'both inventories and a map, or neither', remedies.PLUGIN)
        return
    state = host.published.state
    wanted = _offered(host.published)
    for name in hostmap.CLASSES:
        inventory = host.inventories.get(name)
        if not state.cpus:
            if inventory and inventory['reserved'] != inventory['total']:
                yield _differs(host, name, inventory, 'all of it reserved')
        elif inventory is None or _sizes(inventory) != _sizes(wanted[name]):
            yield _differs(host, name, inventory, str(_sizes(wanted[name])))


def _offered(published: hostmap.HostMap
             ) -> dict[str, dict[str, int | float]]:
    state = published.state
    return hostmap.inventories(state, published.strangers)


def _sizes(inventory: Mapping[str, float]) -> dict[str, float]:
    return {key: inventory[key] for key in _SIZES}


def _differs(host: snapshot.HostSnapshot, name: str,
             inventory: Mapping[str, float] | None, wanted: str
             ) -> snapshot.Difference:
    return snapshot.Difference(
        'inventory', host.name, '', f'Placement has '
        f'{_sizes(inventory) if inventory else "no inventory"} of {name}',
        wanted, remedies.AUDIT)
