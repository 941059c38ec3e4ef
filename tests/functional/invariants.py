# SPDX-License-Identifier: Apache-2.0

"""The invariants that hold after every operation.

The sums are computed here, from what Nova, Placement and the kernels store,
without any of the code that computes them in the product.
"""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import fractions
import itertools
import math
import os
from typing import Any

import nova.conf
from nova import objects
from nova.virt import event as virtevent

from nova_rt.rules import hostmap
from nova_rt.services.compute import claims
from tests.functional import base
from tests.functional import guests

PPM = 1_000_000
#: The least runtime of a group above other groups.
LEAST_PPM = 3
#: The default priorities of servers, and the period with the highest priority.
LOWEST, HIGHEST = 10, 57
SHORTEST_US = 1_024

#: The states of a migration that no longer holds anything.
ENDED = ('cancelled', 'completed', 'confirmed', 'done', 'error', 'failed',
         'reverted')

Grants = dict[str, dict[int, tuple[int, int]]]


class TestCase(base.TestCase):
    """Hosts that are all checked after each operation."""

    HOSTS: tuple[str, ...] = ('host1', 'host2')
    CAP = 950_000

    def setUp(self) -> None:
        super().setUp()
        self.unreserved: list[str] = []
        self._snapshot: dict[str, set[str]] = {}
        self.guests.started = self._started
        self.guests.runs = self._runs
        for name in self.HOSTS:
            self.start_host(name)

    def _started(self, host: str, uuid: str) -> None:
        """Passes on an event of libvirt, if nova-compute runs."""
        if host in self.computes:
            self.computes[host].driver.emit_event(guests.lifecycle(
                uuid, virtevent.EVENT_LIFECYCLE_STARTED))

    def _runs(self, host: str, domain: Any) -> None:
        """Notes a virtual machine whose code starts without its budget."""
        uuid, granted = domain.UUIDString(), self._granted(host)
        claim = self.stored(host).get(uuid)
        if claim and self.has_plugin(host) and granted != granted | (
                self.expected(host, domain.rt_pid, claim)):
            self.unreserved.append(f'{uuid} on {host}')

    def has_plugin(self, host: str) -> bool:
        if host not in self.computes:  # it is just starting
            return 'nova_rt' in nova.conf.CONF.compute_driver
        return hasattr(self.computes[host].driver, 'rt_capacity')

    # The following methods compare nova-compute with the database.

    def provider(self, host: str) -> str:
        return str(objects.ComputeNode.get_first_node_by_host_for_old_compat(
            self.cell_context(), host).uuid)

    def _stored(self, host: str) -> set[str]:
        """Returns the identifiers of all stored claims on a host."""
        if host in self._snapshot:
            return self._snapshot[host]
        return self._all_stored()[self.provider(host)]

    def _all_stored(self) -> collections.defaultdict[str, set[str]]:
        """Returns the identifiers of all stored claims, by provider."""
        stored: collections.defaultdict[str, set[str]] = (
            collections.defaultdict(set))
        for instance in objects.InstanceList.get_by_filters(
                self.cell_context(), {'deleted': False, 'soft_deleted': True},
                expected_attrs=['resources', 'migration_context']):
            if instance.host is None:
                # The server is offloaded: its next claim replaces the stored
                # one.
                continue
            moves = self._under_way(instance)
            lists = [instance.resources] + (
                [moves.old_resources, moves.new_resources] if moves else [])
            for each in itertools.chain.from_iterable(filter(None, lists)):
                if each.resource_class == hostmap.RESOURCE_CLASS:
                    stored[each.provider_uuid].add(each.identifier)
        return stored

    @contextlib.contextmanager
    def _read_once(self, hosts: Iterable[str]) -> Iterator[None]:
        """Reads the claims on *hosts* only once: nothing changes them here."""
        stored = self._all_stored()
        self._snapshot = {host: stored[self.provider(host)] for host in hosts}
        try:
            yield
        finally:
            self._snapshot = {}

    def _under_way(self, instance: Any) -> Any:
        """Returns the context of a move that has neither ended nor failed."""
        context = instance.migration_context
        if context is not None and objects.Migration.get_by_id(
                self.cell_context(), context.migration_id).status in ENDED:
            return None
        return context

    def stored(self, host: str) -> dict[str, claims.RTClaim]:
        """Returns the claim that each server runs with on this host."""
        found: dict[str, claims.RTClaim] = {}
        for text in sorted(self._stored(host)):
            claim = claims.RTClaim.parse(text)
            other = found.get(claim.instance_uuid)
            if other is None or self._is_now(claim):
                found[claim.instance_uuid] = claim
        return found

    def _is_now(self, claim: claims.RTClaim) -> bool:
        return claims.instance_claim(self.instance(
            {'id': claim.instance_uuid})) == claim

    def tracked(self, host: str) -> set[str]:
        """Returns the identifiers that the tracker of a host counts."""
        return {claim.identifier for claim
                in self.computes[host].manager.rt.rt_claims()}

    def used(self, host: str) -> collections.Counter[int]:
        """Returns the ppm that are claimed of each pCPU.

        A server runs with one of its claims, so the largest claim counts; on
        hosts with fixed priorities all claims count.
        """
        by_server: dict[str, collections.Counter[int]] = {}
        for text in self.tracked(host):
            claim = claims.RTClaim.parse(text)
            cpus = (range(base.PCPUS) if self.replicated(host)
                    else claim.cpus)
            ppm = _ppm(claim.in_kernel.runtime_us,
                       claim.in_kernel.period_us)
            key = text if self.holds_all(host) else claim.instance_uuid
            own = by_server.setdefault(key, collections.Counter())
            own.update({cpu: max(0, ppm - own[cpu]) for cpu in cpus})
        return sum(by_server.values(), collections.Counter())

    def replicated(self, host: str) -> bool:
        return not self.kernel(host).per_cpu

    # In the kernel.

    def _granted(self, host: str) -> Grants:
        return dict(self.kernel(host).granted())

    def expected(self, host: str, pid: int, claim: claims.RTClaim) -> Grants:
        """Returns exactly what the groups of one guest must hold."""
        own = (claim.in_kernel.runtime_us, claim.in_kernel.period_us)
        found = self.guests.hosts[host]
        vcpus = found.vcpus(pid)
        if self.replicated(host):
            # Mainline has a budget in each group: the vCPUs share the first.
            leaf = (vcpus[0] if vcpus and self.holds_all(host)
                    else found.group(pid))
            return {leaf: dict.fromkeys(range(base.PCPUS), own)}
        if not vcpus:
            return {found.group(pid): dict.fromkeys(claim.cpus, own)}
        self.assertEqual(len(vcpus), len(claim.places))
        return {group: {cpu: own} for group, cpu
                in zip(vcpus, claim.places, strict=True) if cpu is not None}

    def alive(self, host: str) -> list[Any]:
        """Yields the domains of a host that have a process."""
        connection = self.computes[host].driver._host.get_connection()
        return [domain for domain in connection._vms.values()
                if domain.rt_pid]

    def in_force(self, host: str, domain: Any, granted: Grants
                 ) -> claims.RTClaim | None:
        """Returns the claim that a guest must hold in the kernel."""
        return self.stored(host).get(domain.UUIDString())

    def assert_kernel(self, host: str) -> None:
        """Checks that budgets are those of the claims, without any room."""
        granted = self._granted(host)
        leaves: Grants = {}
        for domain in self.alive(host):
            claim = self.in_force(host, domain, granted)
            if claim is not None:
                leaves |= self.expected(host, domain.rt_pid, claim)
            self._assert_policy(host, domain, claim)
        rest = {group: own for group, own in granted.items()
                if group not in leaves}
        self.assertEqual(leaves, {group: own for group, own
                                  in granted.items() if group in leaves})
        for group, own in rest.items():
            if self.holds_all(host) and group.count('/') == 1:
                self._assert_full(host, group, own, granted)
            else:
                self._assert_tight(group, own, granted)
        self.assertEqual([], self.kernel(host).over_cap(self.CAP))

    def _assert_tight(self, group: str, own: dict[int, tuple[int, int]],
                      granted: Grants) -> None:
        depth = group.count('/') + 1
        for cpu, pair in own.items():
            below = sum(_ppm(*each[cpu]) for name, each in granted.items()
                        if name.startswith(group + '/')
                        and name.count('/') == depth and cpu in each)
            self.assertTrue(below, f'{group} holds {pair} for nobody')
            self.assertLessEqual(
                _ppm(*pair), max(below, LEAST_PPM), (group, cpu, granted))

    def _assert_full(self, host: str, group: str,
                     own: dict[int, tuple[int, int]], granted: Grants
                     ) -> None:
        self.assertTrue([name for name in granted if name.startswith(
            group + '/')], f'{group} holds {own} for nobody')
        self.assertEqual({self.kernel(host).sysctl}, set(own.values()))

    def _assert_policy(self, host: str, domain: Any,
                       claim: claims.RTClaim | None) -> None:
        found = self.guests.hosts[host]
        tasks = self.kernel(host).tasks
        threads = found.running[domain.rt_pid]
        groups = found.vcpus(domain.rt_pid) or [found.group(domain.rt_pid)]
        left = {group for number, group in enumerate(groups)
                if claim and number in claim.unreserved}
        for some, wanted in ((left, None), ({*groups} - left, claim)):
            tenants = {(tasks[thread].policy, tasks[thread].priority)
                       for thread in threads if tasks[thread].groups[
                           self.kernel(host).key('cpu')] in some
                       and thread != domain.rt_pid}
            self.assertEqual({self._policy(host, wanted)} if some else set(),
                             tenants)

    def _policy(self, host: str, claim: claims.RTClaim | None
                ) -> tuple[int, int]:
        """Returns the policy and the priority of the tasks of a guest."""
        if claim is None:
            return os.SCHED_OTHER, 0
        return os.SCHED_RR, self._priority(host, claim.in_kernel.period_us)

    def _priority(self, host: str, period_us: int) -> int:
        """Returns the priority: on mainline 4 per octave of periods."""
        if not self.holds_all(host):
            return LOWEST
        return HIGHEST - int(4 * math.log2(max(1, period_us / SHORTEST_US)))

    # All of it.

    def assert_safe(self, *hosts: str) -> None:
        """Checks, at any time, that nothing is forgotten or beyond the cap."""
        self.assertEqual([], self.unreserved)
        hosts = hosts or tuple(self.computes)
        with self._read_once(hosts):
            for host in hosts:
                self.assertLessEqual(self._stored(host), self.tracked(host))
                beyond = {cpu: ppm for cpu, ppm in self.used(host).items()
                          if ppm > self.CAP}
                self.assertEqual({}, beyond)
                self.assert_kernel(host)

    def assert_invariants(self, *hosts: str) -> None:
        """Checks after an operation, and again after the next audit."""
        hosts = hosts or tuple(self.computes)
        self.assert_safe(*hosts)
        for host in hosts:
            before = self.kernel(host).budgets()
            self.audit(host)
            self.assertEqual(before, self.kernel(host).budgets(),
                             'the audit had to correct a budget')
        self.assert_safe(*hosts)
        for host in hosts:
            self.assertEqual(self._stored(host), self.tracked(host))
            self._assert_placement(host)
            self._assert_published(host)

    def _assert_placement(self, host: str) -> None:
        total: collections.Counter[str] = collections.Counter()
        for text in self.tracked(host):
            claim = claims.RTClaim.parse(text)
            share = _ppm(claim.reservation.runtime_us,
                         claim.reservation.period_us)
            total.update({'CUSTOM_RT_BANDWIDTH': share * len(claim.cpus),
                          'CUSTOM_RT_SHARE': share})
        self.assertEqual((total['CUSTOM_RT_BANDWIDTH'],
                          total['CUSTOM_RT_SHARE']), self.usage(host))

    def _assert_published(self, host: str) -> None:
        if self.computes[host].driver.rt_capacity.available:
            state = self.host_map(host).state
            used = self.used(host)
            self.assertEqual([used[cpu] for cpu in state.cpus],
                             [max(ppm, state.charged if state.replicated
                                  else 0) for ppm in state.used])

    def assert_nothing_remains(self) -> None:
        """Deletes all servers, and checks that nothing is left of them."""
        for server in self.api.get_servers(detail=False):
            self._delete_server(server)
        for host in self.computes:
            self.audit(host)
        self.assert_invariants()
        self.assert_nothing_left(*self.computes)
        for host in self.computes:
            self.assertEqual({}, self._granted(host))
            self.assertEqual({}, self.guests.hosts[host].running)


def _ppm(runtime: int, period: int) -> int:
    share = fractions.Fraction(runtime, period) * PPM
    return -(-share.numerator // share.denominator)
