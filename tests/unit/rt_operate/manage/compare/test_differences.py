# SPDX-License-Identifier: Apache-2.0

import hypothesis
from hypothesis import strategies as st

from nova_rt.machine.kernel import base as kernel_base
from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from rt_operate.manage.compare import differences
from rt_operate.manage.compare import remedies
from rt_operate.manage import snapshot
from tests.unit import base as unit_base
from tests.unit.rt_operate.manage import base

MIGRATION = base.server_id(500)
STRANGER = base.server_id(501)


class CompareTestCase(unit_base.TestCase):

    def kinds(self, host):
        return [each.kind for each in differences.compare(host)]

    def one(self, host, kind):
        """Returns the only difference, which must be of this kind."""
        found = list(differences.compare(host))
        self.assertEqual([kind], [each.kind for each in found])
        self.assertIn('host1', str(found[0]))
        return found[0]


class ServerTest(CompareTestCase):

    def test_nothing_differs(self):
        self.assertEqual([], self.kinds(base.host()))
        self.assertEqual([], self.kinds(base.host(
            base.holding(0, (0, 1)), base.holding(1, ()),
            base.holding(2, (2,)))))

    def test_a_server_from_before_the_plugin(self):
        one = base.holding(0, (), wanted=reservation.Reservation(10, 100))
        found = self.one(base.host(one), 'claim.missing')
        self.assertIn('asks for a reservation but holds no claim', str(found))
        self.assertIn('to do: resize or migrate the server', str(found))
        self.assertIsNone(found.repair)

    def test_a_lost_claim_leaves_its_allocation(self):
        one = base.holding()
        lost = base.replace(one, claims=(), providers=frozenset())
        host = base.host(lost, kernel=None)
        kept = base.replace(host, allocations={
            one.consumer: base.allocation(one)})
        self.one(kept, 'claim.missing')
        for amount, kinds in ((0, ['claim.missing']),
                              (7, ['claim.missing', 'allocation.amount'])):
            part = base.replace(host, allocations={one.consumer: {
                'VCPU': 1, hostmap.SHARE_CLASS: amount}})
            self.assertEqual(kinds, self.kinds(part))
            self.assertEqual([None] * len(kinds), [
                each.repair for each in differences.compare(part)])

    def test_a_claim_that_cannot_be_read(self):
        one = base.holding(0, (), unreadable=('rubbish',), vcpus=1,
                           wanted=reservation.Reservation(10, 100))
        found = self.one(base.host(one), 'claim.unreadable')
        self.assertIn('rubbish', found.found)

    def test_a_claim_nobody_asks_for(self):
        self.one(base.host(base.holding(wanted=None)), 'claim.unasked')

    def test_a_request_without_sense(self):
        self.one(base.host(base.holding(0, (), trouble='no period')),
                 'request.invalid')

    def test_another_reservation_than_asked_for(self):
        one = base.holding(wanted=reservation.Reservation(120_000, 200_000))
        found = self.one(base.host(one), 'claim.reservation')
        self.assertIn('100000 us every 200000 us', found.found)
        self.assertIn('120000 us every 200000 us', found.wanted)

    def test_pcpus_and_vcpus(self):
        self.one(base.host(base.holding(0, (0, 1), vcpus=1)), 'claim.vcpus')
        self.one(base.host(base.holding(0, (1, 1), 10_000, vcpus=2)),
                 'claim.cpus')

    def masked(self, *unreserved, **fields):
        """A server of 3 vCPUs whose claim leaves the first one out."""
        one = base.holding(0, (0, 1), vcpus=3, unreserved=unreserved,
                           **fields)
        return base.replace(one, claims=(base.replace(
            one.claims[0], unreserved=(0,)),))

    def test_vcpus_without_a_reservation(self):
        self.assertEqual([], [*differences.compare(
            base.host(self.masked(0)))])
        found = self.one(base.host(self.masked(2)), 'claim.vcpus')
        self.assertIn('pCPUs 0-1 but vCPU 0', found.found)
        self.assertIn('2 pCPUs, one for each vCPU but vCPU 2', found.wanted)
        missing = self.one(base.host(base.holding(
            claims=(), vcpus=3, unreserved=(0,))), 'claim.missing')
        self.assertIn('on 2 pCPUs', missing.wanted)

    def test_of_another_server_or_provider(self):
        one = base.holding()
        claim = base.replace(one.claims[0], instance_uuid=STRANGER)
        self.one(base.host(base.replace(one, claims=(claim,))),
                 'claim.server')
        self.one(base.host(base.replace(
            one, providers=frozenset((STRANGER,)))), 'claim.provider')

    def test_several_claims(self):
        one = base.holding()
        claim = base.replace(one.claims[0], move=3, cpus=(1,))
        twice = base.replace(one, claims=(*one.claims, claim))
        host = base.host(twice)
        fixed = base.replace(host, allocations={one.consumer: {
            hostmap.RESOURCE_CLASS: 1_000_000,
            hostmap.SHARE_CLASS: 1_000_000}})
        self.one(fixed, 'claim.several')


class PcpusTest(CompareTestCase):

    def test_more_than_the_cap(self):
        host = base.host(base.holding(0, (0, 1), 120_000),
                         base.holding(1, (1,), 120_000))
        found = self.one(host, 'pcpu.over')
        self.assertIn('1200000 ppm on pCPU 1', found.found)
        replicated = base.host(base.holding(0, (0,), 120_000),
                               base.holding(1, (1,), 120_000),
                               replicated=True)
        self.assertIn('all pCPUs together',
                      self.one(replicated, 'pcpu.over').found)

    def test_servers_that_the_kernel_cannot_all_serve(self):
        """A version with this rule would not have admitted these claims."""
        long = base.holding(0, (0,), 80_000)
        beside = [base.holding(1, (n,), 50_000, 100_000)
                  for n in (0, 1)]
        for other, wanted in zip(beside, (1, 0), strict=True):
            found = base.host(long, other, replicated=True)
            state = cpus.CpuBandwidth.empty(
                range(4), base.CAP, True, unit_base.FIXED).fold(
                    (claim.cpus, claim.reservation)
                    for one in (long, other) for claim in one.claims)
            host = base.replace(found, published=hostmap.HostMap(
                state, 'worst_fit'))
            self.assertEqual(['pcpu.unschedulable'] * wanted,
                             self.kinds(host))

    def test_other_servers_than_published(self):
        held = base.holding(0, (0,), 80_000)
        host = base.host(held, replicated=True)
        rule = base.replace(host.published.state, rule=unit_base.FIXED,
                            servers={})
        found = self.one(base.replace(host, published=hostmap.HostMap(
            rule, 'worst_fit')), 'map.stale')
        self.assertIn('no server on pCPU 0', found.found)

    def test_another_map_than_the_claims(self):
        host = base.host(base.holding())
        state = base.replace(host.published.state, used=(0, 500_000, 0, 0))
        found = self.one(base.replace(
            host, published=hostmap.HostMap(state, 'worst_fit')),
            'map.stale')
        self.assertIn('500000 ppm on pCPU 1', found.found)
        self.assertIn('500000 ppm on pCPU 0', found.wanted)
        self.assertEqual(remedies.AUDIT, found.remedy)

    def stranger(self, kind, **fields):
        """Returns the difference for a guest that Nova does not have there."""
        one = hostmap.Stranger('uuid', 'instance-7', (
            ((1, 2), reservation.Reservation(10, 100)),), **fields)
        host = base.host(base.holding())
        state = host.published.state.fold(one.shares)
        empty = cpus.CpuBandwidth.empty(range(4), base.CAP)
        found = self.one(base.replace(
            host, published=hostmap.HostMap(state, 'worst_fit', (one,)),
            inventories=hostmap.inventories(empty, [one])), kind)
        self.assertEqual('uuid', found.server)
        self.assertIn('instance-7 runs with 10 us every 100 us (share 0.100) '
                      'on pCPUs 1-2', found.found)
        return found

    def test_a_guest_that_the_database_lacks(self):
        found = self.stranger('guest.unknown')
        self.assertIn('has no such server', found.found)
        self.assertEqual(remedies.STRANGER, found.remedy)

    def test_a_guest_that_the_database_has_on_another_host(self):
        found = self.stranger('guest.elsewhere', elsewhere='on host7')
        self.assertIn('has its server on host7', found.found)
        self.assertEqual(remedies.ELSEWHERE, found.remedy)

    def test_no_map(self):
        host = base.host(base.holding(), published=None, inventories={})
        self.one(host, 'map.missing')
        self.assertEqual([], self.kinds(base.host(
            base.holding(0, ()), published=None, inventories={})))
        self.one(base.host(published=None), 'inventory.stale')

    def test_a_host_that_takes_no_reservations_now_keeps_those_it_has(self):
        empty = hostmap.HostMap(cpus.CpuBandwidth.empty((), 0), 'worst_fit')
        host = base.host(base.holding(), published=empty)
        full = {name: found | {'reserved': found['total']}
                for name, found in host.inventories.items()}
        self.assertEqual([], self.kinds(base.replace(
            host, inventories=full)))
        self.assertEqual([], self.kinds(base.replace(host, inventories={})))
        self.assertEqual(['inventory'] * 2, self.kinds(host))


class PlacementTest(CompareTestCase):

    def with_allocation(self, change, **fields):
        one = base.holding(0, (0, 1))
        host = base.host(one, **fields)
        return base.replace(host, allocations={
            one.consumer: base.allocation(one) | change})

    def test_a_wrong_amount(self):
        found = self.one(self.with_allocation({hostmap.SHARE_CLASS: 7}),
                         'allocation.amount')
        self.assertEqual(
            snapshot.Repair(base.server_id(0), base.PROVIDER, (
                (hostmap.RESOURCE_CLASS, 1_000_000),
                (hostmap.SHARE_CLASS, 500_000))), found.repair)
        self.assertIn('7 of CUSTOM_RT_SHARE', found.found)
        self.assertEqual(remedies.HEAL, found.remedy)

    def test_one_class_or_both_are_missing(self):
        self.one(self.with_allocation({hostmap.SHARE_CLASS: 0}),
                 'allocation.amount')
        found = self.one(self.with_allocation(
            dict.fromkeys(hostmap.CLASSES, 0)), 'allocation.missing')
        self.assertIsNotNone(found.repair)

    def test_nothing_is_allocated_at_all(self):
        """Nova would take an allocation of our classes alone for complete."""
        host = base.replace(base.host(base.holding()), allocations={})
        found = self.one(host, 'allocation.missing')
        self.assertIsNone(found.repair)
        self.assertIn(f'heal_allocations --instance {base.server_id(0)}',
                      found.remedy)

    def test_allocated_and_not_asked_for(self):
        one = base.holding(0, ())
        host = base.replace(base.host(one), allocations={
            one.consumer: {'VCPU': 1, hostmap.SHARE_CLASS: 7}})
        found = self.one(host, 'allocation.amount')
        self.assertEqual({0}, set(dict(found.repair.amounts).values()))

    def test_consumers_that_are_not_here(self):
        for fate, kind in ((snapshot.Fate.GONE, 'allocation.leaked'),
                           (snapshot.Fate.ELSEWHERE, 'allocation.elsewhere')):
            host = base.host(fates={STRANGER: fate}, allocations={
                STRANGER: {hostmap.RESOURCE_CLASS: 5}})
            found = self.one(host, kind)
            self.assertEqual(fate is snapshot.Fate.GONE, bool(found.repair))
        for fate, amounts in (
                (snapshot.Fate.EXPECTED, {hostmap.RESOURCE_CLASS: 5}),
                (snapshot.Fate.GONE, {'VCPU': 5})):
            self.assertEqual([], self.kinds(base.host(
                fates={STRANGER: fate}, allocations={STRANGER: amounts})))

    def test_a_resize_that_waits_for_confirmation(self):
        """On one host, the migration pays for the old claim."""
        old = base.holding(0, (0,), consumer=MIGRATION)
        host = base.host(old, base.holding(0, (1, 2)))
        self.assertEqual([], self.kinds(host))
        without = base.replace(host, allocations={
            consumer: found for consumer, found in host.allocations.items()
            if consumer != MIGRATION})
        found = self.one(without, 'allocation.missing')
        self.assertIn(MIGRATION, found.found)
        self.assertEqual(remedies.CONFIRM, found.remedy)

    def test_a_server_on_its_way(self):
        one = base.holding(moving=True)
        self.assertEqual([], self.kinds(base.replace(
            base.host(one), allocations={})))
        lost = base.replace(one, claims=(), unreadable=('x',))
        self.assertEqual([], self.kinds(base.host(lost, kernel=None)))

    def test_inventories(self):
        host = base.host()
        for name in hostmap.CLASSES:
            rest = {other: found for other, found
                    in host.inventories.items() if other != name}
            self.one(base.replace(host, inventories=rest), 'inventory')

    def test_no_provider(self):
        self.one(base.host(allocations=None), 'provider.missing')
        self.assertEqual([], self.kinds(base.host(
            allocations=None, published=None)))


class BudgetsTest(CompareTestCase):

    def with_budget(self, held, **fields):
        one = base.holding(**fields)
        leaf = base.replace(base.leaf(one), budget=held)
        return base.host(one, kernel=snapshot.KernelBudgets(
            False, {one.server: (leaf,)}))

    def test_another_budget(self):
        for held in (None, kernel_base.Budget({0: 99_999}, 200_000),
                     kernel_base.Budget({1: 100_000}, 200_000),
                     kernel_base.Budget({0: 100_000}, 100_000)):
            self.one(self.with_budget(held), 'budget')
            self.assertEqual([], self.kinds(self.with_budget(
                held, moving=True)))

    def test_granted_on_more_cpus(self):
        one = base.holding()
        leaf = base.replace(base.leaf(one), budget=kernel_base.Budget(
            dict.fromkeys(range(4), 100_000), 200_000))
        host = base.host(one, replicated=True)
        guests = {one.server: (leaf,)}
        self.assertEqual([], self.kinds(base.replace(
            host, kernel=snapshot.KernelBudgets(True, guests))))
        self.one(base.replace(
            host, kernel=snapshot.KernelBudgets(False, guests)), 'budget')

    def test_a_budget_without_a_claim(self):
        leaf = snapshot.Leaf('/machine/x', None,
                             kernel_base.Budget({0: 1000}, 10_000))
        one = base.holding(0, ())
        self.one(base.host(one, kernel=snapshot.KernelBudgets(
            False, {one.server: (leaf,)})), 'budget')

    def test_strays_and_room(self):
        found = self.one(base.host(kernel=snapshot.KernelBudgets(
            False, {}, {'/machine/other': 5})), 'budget.stray')
        self.assertIn('5 ppm for /machine/other', found.found)
        self.one(base.host(kernel=snapshot.KernelBudgets(
            False, {}, {}, {'/machine': 5})), 'budget.room')


# Properties: see _mutations for the damage that is done.

RUNTIMES = st.integers(2_000, 20_000)


@st.composite
def hosts(draw):
    """Hosts in order, with servers in all states that rest."""
    holdings = []
    for number in range(draw(st.integers(0, 4))):
        ids = draw(st.lists(st.integers(0, 3), max_size=3, unique=True))
        new = base.holding(number, tuple(ids), draw(RUNTIMES))
        holdings.append(new)
        if draw(st.booleans()):
            holdings.append(base.holding(
                number, (draw(st.integers(0, 3)),), draw(RUNTIMES),
                consumer=base.server_id(600 + number)))
    host = base.host(*holdings, replicated=draw(st.booleans()))
    evacuated = draw(st.booleans())
    return base.replace(
        host, fates={STRANGER: snapshot.Fate.EXPECTED} if evacuated else {},
        allocations=host.allocations | (
            {STRANGER: {hostmap.RESOURCE_CLASS: 5}} if evacuated else {}))


def _with_holding(host, index, one):
    changed = [*host.holdings]
    changed[index] = one
    return base.replace(host, holdings=tuple(changed))


def _claim_mutations(host, index, one, amount):
    claim = one.claims[0]
    share = claim.reservation
    others = (
        base.replace(claim, instance_uuid=STRANGER),
        base.replace(claim, cpus=(*claim.cpus, 4)),
        base.replace(claim, cpus=(*claim.cpus, claim.cpus[0])),
        base.replace(claim, cpus=tuple(
            (cpu + amount % 3 + 1) % 4 for cpu in claim.cpus[:1])
            + claim.cpus[1:]),
        base.replace(claim, reservation=reservation.Reservation(
            share.runtime_us + amount, share.period_us)),
        base.replace(claim, reservation=reservation.Reservation(
            share.runtime_us, share.period_us + amount)))
    # Of two claims of a server the larger one counts on a pCPU, so that the
    # pCPUs of the other may show nowhere.
    resized = [each.server for each in host.holdings].count(one.server) > 1
    for other in others[:3] + others[4:] if resized else others:
        yield _with_holding(host, index, base.replace(one, claims=(other,)))
    yield _with_holding(host, index, base.replace(one, claims=()))
    yield _with_holding(host, index, base.replace(
        one, claims=(), unreadable=('x',)))
    yield _with_holding(host, index, base.replace(one, wanted=None))
    yield _with_holding(host, index, base.replace(
        one, providers=frozenset((STRANGER,))))


def _allocation_mutations(host, consumer, amount):
    found = host.allocations[consumer]
    for name in hostmap.CLASSES:
        for change in (found.get(name, 0) + amount, 0):
            if change != found.get(name, 0):
                yield base.replace(host, allocations=host.allocations | {
                    consumer: found | {name: change}})


def _host_mutations(host, amount):
    state = host.published.state
    for index, ppm in enumerate(state.used):
        used = list(state.used)
        used[index] = ppm + amount
        yield base.replace(host, published=hostmap.HostMap(
            base.replace(state, used=tuple(used)), 'worst_fit'))
    yield base.replace(host, published=hostmap.HostMap(
        base.replace(state, charged=state.charged + amount), 'worst_fit'))
    yield base.replace(host, published=None)
    yield base.replace(host, allocations=None)
    yield base.replace(host, fates={STRANGER: snapshot.Fate.GONE},
                       allocations=host.allocations | {
                           STRANGER: {hostmap.SHARE_CLASS: amount}})
    for name, found in host.inventories.items():
        for key in ('total', 'reserved', 'max_unit'):
            yield base.replace(host, inventories=host.inventories | {
                name: found | {key: found[key] + amount}})
    for field in ('strays', 'room'):
        yield base.replace(host, kernel=base.replace(
            host.kernel, **{field: {'/machine/x': amount}}))


def _budget_mutations(host, amount):
    for server, (leaf,) in host.kernel.guests.items():
        held = leaf.budget
        others = [kernel_base.Budget({0: amount}, 12_345)]
        if held is not None:
            others = [None, base.replace(
                held, period_us=held.period_us + amount), base.replace(
                    held, runtime_us={cpu: runtime + amount for cpu, runtime
                                      in held.runtime_us.items()})]
        for other in others:
            yield base.replace(host, kernel=base.replace(
                host.kernel, guests=host.kernel.guests | {
                    server: (base.replace(leaf, budget=other),)}))


def _mutations(host, amount):
    """Yields hosts, each with a single mistake."""
    yield from _host_mutations(host, amount)
    yield from _budget_mutations(host, amount)
    for index, one in enumerate(host.holdings):
        if one.claims:
            yield from _claim_mutations(host, index, one, amount)
        yield from _allocation_mutations(host, one.consumer, amount)


class PropertyTest(CompareTestCase):

    @unit_base.PROPERTY
    @hypothesis.given(hosts())
    def test_order_has_no_difference(self, host):
        self.assertEqual([], self.kinds(host))

    @unit_base.PROPERTY
    @hypothesis.given(hosts(), st.integers(1, 100_000))
    def test_any_single_mistake_is_found(self, host, amount):
        for number, mutated in enumerate(_mutations(host, amount)):
            self.assertNotEqual([], self.kinds(mutated), number)

    @unit_base.PROPERTY
    @hypothesis.given(hosts(), st.integers(1, 100_000))
    def test_a_moving_server_is_no_difference(self, host, amount):
        """A moving server may have any allocation and budget meanwhile."""
        resting = base.replace(host, holdings=tuple(
            base.replace(one, moving=True) for one in host.holdings))
        for one in host.holdings:
            for mutated in _allocation_mutations(resting, one.consumer,
                                                 amount):
                self.assertEqual([], self.kinds(mutated))
        for mutated in _budget_mutations(resting, amount):
            self.assertEqual([], self.kinds(mutated))

    @unit_base.PROPERTY
    @hypothesis.given(hosts(), st.integers(1, 100_000))
    def test_a_repair_leaves_no_difference(self, host, amount):
        for one in host.holdings:
            for mutated in _allocation_mutations(host, one.consumer, amount):
                for found in list(differences.compare(mutated)):
                    self.assertIsNotNone(found.repair)
                    mutated = base.replace(
                        mutated, allocations=mutated.allocations | {
                            one.consumer: mutated.allocations[one.consumer]
                            | dict(found.repair.amounts)})
                self.assertEqual([], self.kinds(mutated))
