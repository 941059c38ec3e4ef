# SPDX-License-Identifier: Apache-2.0

"""Policies that say something of the VDUs they target.

heat-translator makes a resource of each policy, in the order of the
template, and lets few of them see others: a policy that comes after one
that scales finds its server moved to a nested template.  So ours leave what
they say with the node templates when they are made, which is before any
property of any resource is handled, and emit nothing themselves.
"""

from collections.abc import Iterator
from typing import Any
import weakref

from translator.hot.syntax import hot_resource

#: Policies by name, of each node template that one targets.
_OF_NODE: weakref.WeakKeyDictionary[Any, dict[str, dict[str, Any]]] = (
    weakref.WeakKeyDictionary())


def of_node(node: Any) -> list[dict[str, dict[str, Any]]]:
    """Policies on a node template, as a service template lists them."""
    return [{name: policy} for name, policy in _OF_NODE.get(node, {}).items()]


def _target_nodes(policy: Any) -> Iterator[Any]:
    for target in policy.get_targets_list() or ():
        if policy.get_targets_type() == 'groups':
            yield from target.get_member_nodes()
        else:
            yield target


class _Policy(hot_resource.HotResource):
    """No resource of Heat: without a type it is left out."""

    def __init__(self, policy: Any, csar_dir: str | None = None) -> None:
        super().__init__(policy, csar_dir=csar_dir)
        for node in _target_nodes(policy):
            _OF_NODE.setdefault(node, {})[policy.name] = {
                **policy.entity_tpl, 'targets': [node.name]}

    def handle_life_cycle(self) -> tuple[None, None, None]:
        return None, None, None

    def handle_properties(self) -> None:
        pass


class CpuReservation(_Policy):
    toscatype = 'tacker_rt.policies.CpuReservation'


class ResponseTime(_Policy):
    toscatype = 'tacker_rt.policies.ResponseTime'


class Workload(_Policy):
    toscatype = 'tacker_rt.policies.Workload'
