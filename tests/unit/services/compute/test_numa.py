# SPDX-License-Identifier: Apache-2.0

"""Tests cells that Nova accepts and that have room."""

import itertools
import random
from unittest import mock

from nova import objects
from nova.pci import stats
from nova.pci import whitelist

from nova_rt.rules import cpus
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from nova_rt.services.compute import numa
from tests import seeds
from tests.unit import base

HALF = reservation.Reservation(50_000, 100_000)


def host_cell(number, cpuset, memory=1024, physnets=(), socket=0):
    return objects.NUMACell(
        id=number, cpuset=set(cpuset), pcpuset=set(), memory=memory,
        cpu_usage=0, memory_usage=0, pinned_cpus=set(), siblings=[],
        mempages=[objects.NUMAPagesTopology(
            size_kb=4, total=memory * 256, used=0)],
        socket=socket, network_metadata=objects.NetworkMetadata(
            physnets=set(physnets), tunneled=False))


def host(*cells):
    return objects.NUMATopology(cells=list(cells))


def server(*vcpus, memory=64):
    return objects.InstanceNUMATopology(cells=[
        objects.InstanceNUMACell(id=number, cpuset=set(own), pcpuset=set(),
                                 memory=memory)
        for number, own in enumerate(vcpus)])


def devices(rng, cells):
    """A request for devices, and free devices in some of the cells."""
    count = rng.choice((0, 0, 1, 2))
    if not count:
        return [], None
    request = objects.InstancePCIRequest(
        count=count, spec=[{'vendor_id': '8086'}], numa_policy=rng.choice(
            ('required', 'preferred', 'legacy', 'socket')))
    pools = [objects.PciDevicePool(
        vendor_id='8086', product_id='1520', count=rng.choice((1, 2)),
        numa_node=rng.choice((None, *range(len(cells)))), tags={})
        for _ in range(rng.choice((1, 2)))]
    return [request], stats.PciDeviceStats(
        cells, objects.PciDevicePoolList(objects=pools),
        whitelist.Whitelist())


def state(*used):
    return cpus.CpuBandwidth(tuple(range(len(used))), 950_000, used)


def chosen(question, *used, **kwargs):
    found = numa.choose(question, numa.Wish(state(*used), HALF, **kwargs))
    return found and ([cell.id for cell in found.cells], found.cpus)


def two_cells():
    return host(host_cell(0, (0, 1)), host_cell(1, (2, 3)))


class ChooseTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.cells = two_cells()

    def test_where_nova_prefers(self):
        question = numa.Question(self.cells, server((0, 1)))
        self.assertEqual(([0], (0, 1)), chosen(question, 0, 0, 0, 0))

    def test_where_there_is_room(self):
        question = numa.Question(self.cells, server((0, 1)))
        self.assertEqual(([1], (2, 3)), chosen(question, 500_000, 0, 0, 0))
        self.assertIsNone(chosen(question, 500_000, 0, 0, 500_000))

    def test_vcpus_without_the_reservation_need_no_room(self):
        question = numa.Question(self.cells, server((0, 1)))
        self.assertEqual(([0], (1,)), chosen(
            question, 500_000, 0, 500_000, 500_000, unreserved=(0,)))

    def test_uneven_cells(self):
        question = numa.Question(self.cells, server((0, 2), (1,)))
        self.assertEqual(([1, 0], (2, 1, 3)),
                         chosen(question, 500_000, 0, 0, 0))

    def test_a_cell_without_memory(self):
        cells = host(host_cell(0, (0, 1), memory=32), host_cell(1, (2, 3)))
        self.assertIsNone(chosen(numa.Question(cells, server((0, 1))),
                                 0, 0, 500_000, 500_000))

    def test_the_network_of_a_cell_without_room(self):
        """Nova wants the cell of the network, so no other one will do."""
        cells = host(host_cell(0, (0, 1)),
                     host_cell(1, (2, 3), physnets=('net',)))
        limits = objects.NUMATopologyLimits(
            cpu_allocation_ratio=16.0, ram_allocation_ratio=1.0,
            network_metadata=objects.NetworkMetadata(
                physnets={'net'}, tunneled=False))
        for wanted in (server((0, 1)), server((0,), (1,))):
            question = numa.Question(cells, wanted, limits)
            self.assertIsNotNone(chosen(question, 0, 0, 0, 0))
            self.assertIsNone(chosen(question, 0, 0, 500_000, 500_000))

    def test_the_overcommitment_of_cpus(self):
        self.cells.cells[1].cpu_usage = 2
        limits = objects.NUMATopologyLimits(
            cpu_allocation_ratio=1.0, ram_allocation_ratio=1.0)
        question = numa.Question(self.cells, server((0, 1)), limits)
        self.assertIsNone(chosen(question, 500_000, 0, 0, 0))

    def test_a_host_without_cells(self):
        self.assertIsNone(chosen(numa.Question(None, server((0,))), 0))

    def test_the_request_is_not_changed(self):
        wanted = server((0, 2), (1,))
        before = str(wanted)
        chosen(numa.Question(self.cells, wanted), 500_000, 0, 0, 0)
        self.assertEqual(before, str(wanted))

    def test_an_exact_search(self):
        """Nova is asked about each order of cells, and each has room."""
        for seed in seeds.seeds(40):
            with self.subTest(NOVA_RT_SEED=seed):
                self._search(random.Random(seed))  # noqa: S311

    def test_an_exact_search_of_many_orders(self):
        """nova-rt asks Nova about no order on hosts with so many cells."""
        with mock.patch.object(numa, '_MOST_ORDERS', 0):
            self.test_an_exact_search()

    def test_many_cells(self):
        """Nova would try 518,918,400 orders of these cells."""
        cells = host(*(host_cell(number, (number,)) for number in range(16)))
        question = numa.Question(cells, server(*((vcpu,)
                                                 for vcpu in range(8))))
        used = [0, 500_000] * 8
        self.assertEqual((list(range(0, 16, 2)), tuple(range(0, 16, 2))),
                         chosen(question, *used))
        used[0] = 500_000
        self.assertIsNone(chosen(question, *used))

    def _search(self, rng):
        count = rng.choice((2, 4))
        cells = host(*(host_cell(
            number, (2 * number, 2 * number + 1),
            memory=rng.choice((32, 1024)),
            physnets=rng.choice(((), ('net',))), socket=rng.choice((0, 1)))
            for number in range(count)))
        vcpus = iter(range(8))
        wanted = server(*(
            [next(vcpus) for _ in range(rng.choice((1, 1, 2)))]
            for _ in range(rng.randint(1, count))))
        limits = objects.NUMATopologyLimits(
            cpu_allocation_ratio=16.0, ram_allocation_ratio=1.0,
            network_metadata=objects.NetworkMetadata(
                physnets=set(rng.choice(((), ('net',)))), tunneled=False))
        question = numa.Question(cells, wanted, limits,
                                 *devices(rng, cells))
        used = [rng.choice((0, 0, 500_000)) for _ in range(2 * count)]
        found = chosen(question, *used)
        self.assertEqual(
            any(question.ids(question.only(set(order))) is not None
                and self._accepts(question, order)
                and all(sum(used[cpu] == 0 for cpu in cells.cells[
                    cell].cpuset) >= len(own.cpuset) for cell, own in zip(
                        order, wanted.cells, strict=True))
                for order in itertools.permutations(
                    range(count), len(wanted.cells))), found is not None)
        if found is not None:
            ids, places = found
            self.assertEqual(ids, list(question.ids(
                [cells.cells[cell] for cell in ids])))
            for cell, own in zip(ids, wanted.cells, strict=True):
                self.assertLessEqual({places[vcpu] for vcpu in own.cpuset},
                                     cells.cells[cell].cpuset)

    @staticmethod
    def _accepts(question, order):
        """Checks whether Nova accepts the cells in this order."""
        by_id = {cell.id: cell for cell in question.host.cells}
        return question.ids([by_id[cell] for cell in order]) == order


class ShowTest(base.TestCase):

    def test_as_long_as_nova_claims(self):
        node = base.compute_node('host1', {})
        node.numa_topology = whole = two_cells()._to_json()
        with numa.show(node, two_cells().cells[1:]) as shown:
            self.assertEqual([1], [
                cell.id for cell in objects.NUMATopology.obj_from_db_obj(
                    node.numa_topology).cells])
            shown.close()
            self.assertEqual(whole, node.numa_topology)
            node.numa_topology = 'what Nova has counted'
        self.assertEqual('what Nova has counted', node.numa_topology)

    def test_all_cells(self):
        node = base.compute_node('host1', {})
        with numa.show(node, ()):
            self.assertIsNone(node.numa_topology)


class FitTest(base.TestCase):

    def test_policy(self):
        found = numa.fit(None, state(0, 100_000), _Split, HALF,
                         policies.best_fit)
        self.assertEqual(((), (1,)), (found.cells, found.cpus))
        self.assertIsNone(numa.fit(None, state(500_000), _Split, HALF,
                                   policies.best_fit))


class _Split:
    reserved = 1
    unreserved = ()
