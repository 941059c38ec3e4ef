# SPDX-License-Identifier: Apache-2.0

"""Reads a cloud: the databases, Placement and the kernel of this machine.

If a part cannot be read, the result has a sentence about this part, and the
command compares the other parts.
"""

from collections.abc import Iterator, Sequence
import dataclasses
from typing import Any

from nova import context as nova_context
from nova import objects

from nova_rt.rules import hostmap
from nova_rt.services.api import pending
from rt_operate.manage import errors
from rt_operate.manage.read import cells
from rt_operate.manage.read import consumers
from rt_operate.manage.read import flavors
from rt_operate.manage.read import kernel
from rt_operate.manage.read import notes
from rt_operate.manage.read import placement
from rt_operate.manage import snapshot


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """The parts of a cloud to read.

    :ivar host: only this host; None for all hosts
    :ivar kernel: whether to read the kernel of this machine. True: the kernel
        must be read. False: the kernel is not read. None: the kernel is read
        if it can be read and a host is this machine
    """

    host: str | None = None
    kernel: bool | None = None


@dataclasses.dataclass
class CloudView:
    """The parts of a cloud that were read.

    :ivar flavors: empty if only one host is read
    :ivar begun: notes in the table of quotas that a killed nova-api has left;
        empty if only one host is read
    :ivar unchecked: a sentence for each part that could not be read but must
        be
    :ivar notes: a sentence for each part that was left out
    """

    hosts: list[snapshot.HostSnapshot] = dataclasses.field(
        default_factory=list)
    flavors: list[snapshot.Flavor] = dataclasses.field(default_factory=list)
    begun: list[pending.Begun] = dataclasses.field(default_factory=list)
    unchecked: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)


class Loader:
    """Reads the parts of a cloud that are in a scope.

    :raises: any of ``errors.ERRORS``, in all methods
    """

    def __init__(self, scope: Scope, this_host: str) -> None:
        self._scope = scope
        self._this_host = this_host
        self._contexts = cells.contexts()
        self.placement = placement.Placement(
            nova_context.get_admin_context())

    def view(self) -> CloudView:
        """Reads the cloud and returns what could be read."""
        view = CloudView()
        for node in self._nodes(view):
            with errors.noted(view.unchecked, f'host {node.name}'):
                view.hosts.append(self._host(node, view))
        if self._scope.host is None:
            with errors.noted(view.unchecked, 'the flavors'):
                view.flavors = flavors.flavors(
                    nova_context.get_admin_context())
            with errors.noted(view.unchecked, 'the table of quotas'):
                view.begun = notes.left_over(
                    nova_context.get_admin_context())
        if self._scope.kernel and not view.unchecked and not any(
                host.kernel for host in view.hosts):
            view.unchecked.append(
                f'the kernel of another machine: this machine is '
                f'{self._this_host}')
        if not (view.hosts or view.unchecked):
            view.unchecked.append(
                f'there is no compute node of the host {self._scope.host}'
                if self._scope.host else 'there are no compute nodes')
        return view

    def _nodes(self, view: CloudView) -> Iterator[cells.Node]:
        for context in self._contexts:
            nodes: list[cells.Node] = []
            with errors.noted(view.unchecked, f'cell {_name(context)}'):
                nodes = cells.nodes(context, self._scope.host)
            yield from nodes

    def _host(self, node: cells.Node, view: CloudView
              ) -> snapshot.HostSnapshot:
        compute = node.compute
        # Placement is read first. Otherwise the consumer of a server that is
        # created meanwhile would be unknown.
        allocations = self.placement.allocations(compute.uuid)
        inventories = self.placement.inventories(compute.uuid)
        holdings = tuple(cells.holdings(node))
        # The stats may have changed since the compute nodes were listed.
        newest = objects.ComputeNode.get_by_uuid(node.context, compute.uuid)
        published = hostmap.from_stats(newest.stats or {})
        here = {holding.consumer for holding in holdings}
        return snapshot.HostSnapshot(
            node.name, compute.uuid, published, holdings, allocations,
            inventories, self._fates(node, allocations or {}, here),
            self._kernel(node, holdings, published, view))

    def _fates(self, node: cells.Node,
               allocations: dict[str, dict[str, int]], here: set[str]
               ) -> dict[str, snapshot.Fate]:
        return {consumer: consumers.fate(self._contexts, consumer, node)
                for consumer, amounts in allocations.items()
                if consumer not in here and any(
                    amounts.get(name) for name in hostmap.CLASSES)}

    def _kernel(self, node: cells.Node, holdings: Sequence[snapshot.Holding],
                published: hostmap.HostMap | None, view: CloudView
                ) -> snapshot.KernelBudgets | None:
        required = self._scope.kernel
        if required is False or node.name != self._this_host:
            return None
        sentences = view.unchecked if required else view.notes
        with errors.noted(sentences, f'the kernel of {node.name}'):
            return kernel.read_budgets(holdings, {
                stranger.uuid for stranger in published.strangers
            } if published else ())
        return None


def _name(context: Any) -> str:
    return str(getattr(context, 'cell_uuid', '') or '')
