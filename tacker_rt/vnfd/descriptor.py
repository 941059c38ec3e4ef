# SPDX-License-Identifier: Apache-2.0

"""Reads the reservation of each VDU of a VNF descriptor.

The module is pure code: its functions take parsed YAML and return
:class:`Vdu`.  For one service template::

    vdus = vnfd.read_vdus(yaml.safe_load(text), where='vnfd.yaml')
    vdus['VDU_A'].hints  # {'cpu.rt_runtime_us': 60000, ...}

and for the Definitions of a package, with a request of the operator::

    vdus = vnfd.read_package(files, flavour='simple', request=request)

where *files* are parsed service templates by file name, and *request* is the
additionalParams of the request, whose ``nfv.VDU.<vdu>.'cpu.rt_runtime_us'``
(``rt_period_us``, ``rt_carrier``) overrides the VNFD.

A reservation can stand in these places, the strongest first: the request; a
policy of tacker_rt.policies; ``vdu_cpu_requirements`` or the legacy
``cpu_allocation`` of the VDU; the flavor that the VDU names.  For each key, a
stronger place overrides a weaker place, as a hint overrides a flavor.  Places
of equal strength must not contradict each other.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

from nova_rt.rules import reservation as nova_reservation

from tacker_rt import exception
from tacker_rt import problem
from tacker_rt.vnfd import asked
from tacker_rt.vnfd import inputs as tosca_inputs
from tacker_rt.vnfd import node
from tacker_rt.vnfd import policies
from tacker_rt.vnfd import statements
from tacker_rt.vnfd import topology
from tacker_rt.vnfd import unread

Carrier = statements.Carrier
Input = statements.Input
Source = statements.StatementSource
#: What Nova reads from flavors only.
_FLAVOR_ONLY = frozenset((nova_reservation.MASK_KEY,
                          nova_reservation.KIND_KEY))


@dataclasses.dataclass(frozen=True, slots=True)
class Vdu:
    """The requirements of a VDU.

    :ivar hints: the reservation in us, by the keys of Nova's hints; one key,
        or none, if the VDU names a flavor
    :ivar source: the strongest place that has a part of the reservation
    :ivar flavor: the name of a flavor of the cloud; None without one
    :ivar extra_specs: other extra specs; they may have the mask and the
        kind of the reservation, but never its runtime and period
    :ivar workload: hints about the workload (see nova_rt.rules.workload),
        which are not a reservation
    """

    name: str
    hints: Mapping[str, int | Input]
    source: Source | None
    flavor: str | None
    extra_specs: Mapping[str, str]
    carrier: Carrier
    workload: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def reservation(self) -> nova_reservation.Reservation | None:
        """The reservation; None if runtime or period is not known yet."""
        runtime = self.hints.get(nova_reservation.RUNTIME_KEY)
        period = self.hints.get(nova_reservation.PERIOD_KEY)
        if isinstance(runtime, int) and isinstance(period, int):
            return nova_reservation.Reservation(runtime, period)
        return None

    @property
    def in_flavor(self) -> bool:
        """Tells whether Heat has to make a flavor with the reservation."""
        return bool(self.hints) and self.carrier is not Carrier.HINTS

    @property
    def open_inputs(self) -> list[str]:
        """The names of the inputs whose value a hint still needs."""
        return [value.name for value in self.hints.values()
                if isinstance(value, Input)]


def read_vdus(template: Mapping[str, Any], *, where: str,
              inputs: Mapping[str, Any] | None = None,
              request: asked.Request | None = None) -> dict[str, Vdu]:
    """Returns all VDUs of one service template by name.

    :param where: the name of the file, for messages
    :param inputs: values of inputs; the others have their defaults
    :param request: the additionalParams of one request, or several sources
    :raises InvalidVnfd: when there is a problem; names the first one
    """
    return read_package({where: template}, inputs=inputs, request=request)


def read_package(files: Mapping[str, Any], *, flavour: str | None = None,
                 inputs: Mapping[str, Any] | None = None,
                 request: asked.Request | None = None
                 ) -> dict[str, Vdu]:
    """Returns all VDUs of the Definitions of a package by name.

    :param files: parsed service templates by file name
    :param flavour: the id of a deployment flavour; files that describe
        another flavour are left out
    :raises InvalidVnfd: when there is a problem; names the first one
    """
    vdus, problems = examine(files, flavour=flavour, inputs=inputs,
                             request=request)
    if problems:
        raise exception.InvalidVnfd(problem=problems[0])
    return vdus


def examine(files: Mapping[str, Any], *, flavour: str | None = None,
            inputs: Mapping[str, Any] | None = None,
            request: asked.Request | None = None
            ) -> tuple[dict[str, Vdu], list[problem.Problem]]:
    """Returns the result of :func:`read_package`, and all problems."""
    problems: list[problem.Problem] = []
    if flavour is not None:
        files = topology.select_flavour(files, flavour)
    parts = topology.gather(files, problems)
    values = tosca_inputs.Inputs(parts.inputs, inputs or {})
    stated = policies.read(parts, values)
    workloads = policies.workloads(parts, values)
    wishes = asked.read(parts, request or {}, problems)
    vdus = {}
    for name, part in parts.vdus.items():
        own = node.read(part, values)
        stack = [*wishes.get(name, ()), *stated.get(name, ()),
                 *own.statements]
        vdus[name] = _combine(part, own, stack, workloads.get(name, {}))
    unread.find_unread(files, parts, problems)
    return vdus, list(dict.fromkeys(problems))


def _combine(part: topology.Part, own: node.Node,
             stack: list[statements.Statement],
             workload: Mapping[str, str]) -> Vdu:
    """Combines the statements; for each key the strongest one counts.

    :param stack: the statements, the strongest first
    """
    hints: dict[str, int | Input] = {}
    carrier = (Carrier.FLAVOR
               if _FLAVOR_ONLY.intersection(own.extra_specs)
               else Carrier.HINTS)
    for statement in reversed(stack):
        hints |= statement.values
        carrier = statement.carrier or carrier
    vdu = Vdu(part.name, hints, _source(own, stack), own.flavor,
              own.extra_specs, carrier, workload)
    node.check(part, hints, own, stack)
    return vdu


def _source(own: node.Node, stack: list[statements.Statement]
            ) -> Source | None:
    for statement in stack:
        if statement.values:
            return statement.source
    return Source.FLAVOR if own.flavor else None
