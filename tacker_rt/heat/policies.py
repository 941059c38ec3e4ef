# SPDX-License-Identifier: Apache-2.0

"""Our policies, which say something about the VDUs that they target.

heat-translator makes a resource of each policy, in the order of the template.
Few of these resources can see other resources: after a scaling policy, the
server of a VDU is in a nested template.  Therefore our policies make no
resource.  Our policies register with the node templates when they are made,
before any property of a resource is handled.
"""

from collections.abc import Iterator
from typing import Any
import weakref

from translator.hot.syntax import hot_resource

#: The policies by name, by the node template that they target.
_OF_NODE: weakref.WeakKeyDictionary[Any, dict[str, dict[str, Any]]] = (
    weakref.WeakKeyDictionary())


def targeting(node: Any) -> list[dict[str, dict[str, Any]]]:
    """Returns the policies on a node template, as a template lists them."""
    return [{name: policy} for name, policy in _OF_NODE.get(node, {}).items()]


def _target_nodes(policy: Any) -> Iterator[Any]:
    for target in policy.get_targets_list() or ():
        if policy.get_targets_type() == 'groups':
            yield from target.get_member_nodes()
        else:
            yield target


class _Policy(hot_resource.HotResource):
    """A policy that is not a resource of Heat.

    A policy without a type is left out of the template.
    """

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
    """A policy that reserves a runtime and a period."""

    toscatype = 'tacker_rt.policies.CpuReservation'


class ResponseTimePolicy(_Policy):
    """A policy that reserves as much as a response time needs."""

    toscatype = 'tacker_rt.policies.ResponseTime'


class WorkloadPolicy(_Policy):
    """A policy that says which workload its targets run."""

    toscatype = 'tacker_rt.policies.Workload'
