# SPDX-License-Identifier: Apache-2.0

"""Placement with the rules that count here: capacities and generations.

The methods are those of Nova's report client that the scheduler and the
tracker call.
"""

import collections
from collections.abc import Mapping
import copy
from typing import Any

from nova.compute import provider_tree
from nova import exception as nova_exception

Resources = dict[str, int]
_VERSION = '1.36'


class Allocations:
    """The result of get_allocations_for_resource_provider."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.allocations = found


class Placement:
    """One root provider for each host.

    :ivar held: what each consumer holds, by consumer and provider
    """

    def __init__(self) -> None:
        self.trees: dict[str, Any] = {}
        self.held: dict[str, dict[str, Resources]] = {}
        self._generations: collections.Counter[str] = collections.Counter()

    # The tracker.

    def get_provider_subtree_and_ensure_root(
            self, context: Any, uuid: str, name: str) -> Any:
        if uuid not in self.trees:
            self.trees[uuid] = provider_tree.ProviderTree()
            self.trees[uuid].new_root(name, uuid, generation=0)
        return copy.deepcopy(self.trees[uuid])

    def get_allocations_for_provider_tree(self, context: Any, name: str
                                          ) -> dict[str, Any]:
        return {}

    def update_from_provider_tree(self, context: Any, tree: Any,
                                  allocations: Any = None) -> None:
        root, = tree.roots
        now = self.trees[root.uuid].data(root.uuid)
        new = tree.data(root.uuid)
        if new.generation != now.generation:
            raise nova_exception.ResourceProviderUpdateConflict(
                uuid=root.uuid, generation=new.generation, error='stale')
        gone = set(now.inventory) - set(new.inventory)
        if any(self.used(root.uuid)[name] for name in gone):
            raise nova_exception.InventoryInUse(f'{gone} at {root.name}')
        if (new.inventory, new.traits) != (now.inventory, now.traits):
            kept = copy.deepcopy(tree)
            kept.update_inventory(root.uuid, new.inventory,
                                  generation=now.generation + 1)
            self.trees[root.uuid] = kept

    def get_allocations_for_resource_provider(self, context: Any, uuid: str
                                              ) -> Allocations:
        return Allocations({
            consumer: {'resources': dict(found[uuid])}
            for consumer, found in self.held.items() if uuid in found})

    def remove_provider_tree_from_instance_allocation(
            self, context: Any, consumer: str, uuid: str) -> bool:
        self.held.get(consumer, {}).pop(uuid, None)
        return self._written(consumer)

    # The following methods are for the scheduler and the conductor.

    def get_allocation_candidates(self, context: Any, wanted: Any
                                  ) -> tuple[list[Any], dict[str, Any], str]:
        group = wanted.get_request_group(None)
        found = [uuid for uuid in self.trees
                 if set(group.required_traits) <= self._traits(uuid)
                 and self.has_room(uuid, group.resources)]
        return ([{'allocations': {uuid: {'resources': dict(group.resources)}},
                  'mappings': {}} for uuid in found],
                dict.fromkeys(found, {}), _VERSION)

    def claim_resources(self, context: Any, consumer: str, request: Any,
                        project: str, user: str,
                        allocation_request_version: str = _VERSION,
                        consumer_generation: int | None = None) -> bool:
        """Doubles an allocation for an evacuation, as Nova's client does."""
        for uuid, wanted in request['allocations'].items():
            if not self.has_room(uuid, wanted['resources']):
                return False
        held = self.held.setdefault(consumer, {})
        for uuid, wanted in request['allocations'].items():
            if uuid in held:
                raise AssertionError(f'{consumer} is on {uuid} already')
            held[uuid] = dict(wanted['resources'])
        return self._written(consumer)

    def get_allocations_for_consumer(self, context: Any, consumer: str
                                     ) -> dict[str, Any]:
        return {uuid: {'resources': dict(held)} for uuid, held
                in self.held.get(consumer, {}).items()}

    def delete_allocation_for_instance(self, context: Any, consumer: str,
                                       **kwargs: Any) -> bool:
        self.held.pop(consumer, None)
        return self._written(consumer)

    def move_allocations(self, context: Any, source: str, target: str
                         ) -> bool:
        self.held[target] = self.held.pop(source)
        return self._written(source) and self._written(target)

    def _written(self, consumer: str) -> bool:
        self._generations[consumer] += 1
        if not self.held.get(consumer, True):
            del self.held[consumer]
        return True

    # What it knows.

    def _traits(self, uuid: str) -> set[str]:
        return set(self.trees[uuid].data(uuid).traits)

    def used(self, uuid: str) -> collections.Counter[str]:
        total: collections.Counter[str] = collections.Counter()
        for found in self.held.values():
            total.update(found.get(uuid, {}))
        return total

    def has_room(self, uuid: str, wanted: Mapping[str, int]) -> bool:
        inventory = self.trees[uuid].data(uuid).inventory
        used = self.used(uuid)
        for name, amount in wanted.items():
            own = inventory.get(name)
            if own is None or not (
                    own['min_unit'] <= amount <= own['max_unit']):
                return False
            if used[name] + amount > (
                    own['total'] - own['reserved']) * own['allocation_ratio']:
                return False
        return True
