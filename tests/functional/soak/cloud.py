# SPDX-License-Identifier: Apache-2.0

"""Short forms of Nova's API, conductor and compute manager."""

from collections.abc import Iterable, Mapping
import copy
import dataclasses
import itertools
import math
import operator
from typing import Any
import uuid as uuidlib

from nova.compute import task_states
from nova.compute import vm_states
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.scheduler import utils as scheduler_utils
from nova.virt import hardware
from oslo_serialization import jsonutils
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import exception
from nova_rt.services.compute import request
from tests.emulation import clock
from tests.functional.soak import hosts
from tests.functional.soak import placement
from tests.functional.soak import scheduling
from tests.functional.soak import store

ATTEMPTS = 3
_SPACE = uuidlib.UUID('00000000-0000-4000-8000-000000000000')
REFUSED = (nova_exception.ComputeResourcesUnavailable, exception.RTError)


@dataclasses.dataclass(frozen=True)
class Wish:
    """A request: a runtime in each period on each vCPU."""

    runtime: int
    period: int
    vcpus: int
    hinted: bool = False
    cells: int = 0

    @property
    def ppm(self) -> int:
        return -(-self.runtime * 1_000_000 // self.period)

    def flavor(self) -> Any:
        specs = {'hw:cpu.rt_runtime_us': str(self.runtime),
                 'hw:cpu.rt_period_us': str(self.period)}
        if self.hinted:
            specs['hw:cpu.rt_runtime_us'] = '100'
        name = f'{self.runtime}/{self.period}/{self.vcpus}/{self.hinted}'
        if self.cells:
            specs['hw:numa_nodes'] = str(self.cells)
            for cell in range(self.cells):  # May be uneven.
                vcpus = range(cell, self.vcpus, self.cells)
                specs |= {
                    f'hw:numa_cpus.{cell}': ','.join(map(str, vcpus)),
                    f'hw:numa_mem.{cell}': '16' if cell else str(
                        80 - 16 * self.cells)}
            name += f'/{self.cells}'
        number = uuidlib.uuid5(_SPACE, name).int % (1 << 31)
        return objects.Flavor(
            id=number, name=name, flavorid=name, vcpus=self.vcpus,
            memory_mb=64, root_gb=1, ephemeral_gb=0, swap=0,
            vcpu_weight=0, rxtx_factor=1.0, disabled=False, is_public=True,
            extra_specs=specs)

    def topology(self) -> Any:
        return hardware.numa_get_constraints(
            self.flavor(), objects.ImageMeta.from_dict({}))

    def hints(self) -> dict[str, list[str]]:
        if not self.hinted:
            return {}
        return {'cpu.rt_runtime_us': [str(self.runtime)]}


@dataclasses.dataclass(eq=False)
class Build:
    """A server that was scheduled and is not built yet."""

    uuid: str
    spec: Any
    selections: list[Any]
    tries: int = 0


@dataclasses.dataclass
class Refusal:
    """The failure to find a host, and the view of the scheduler.

    :ivar room: the hosts where the request fits by the view that it had and
        by Placement, as told by code of the test
    """

    wish: Wish
    count: int
    room: list[str]


class Cloud:
    """Hosts, schedulers, Placement and the database.

    :ivar cells: NUMA cells of each host; 0 for hosts that publish none
    :ivar pending: builds under way, in the order they were scheduled
    :ivar lost: builds that failed wherever they were tried
    :ivar fitting: how many of them would have fitted on a host then
    :ivar audits: there is one between a claim and what follows
    :ivar refusals: what the schedulers refused
    :ivar attempts: how often a server was placed at which attempt; 0: never
    """

    def __init__(self, kernels: Iterable[str], schedulers: int,
                 clock: clock.Clock, cells: int = 0) -> None:
        self.clock = clock
        self.cells = cells
        self.context = nova_context.get_admin_context()
        self.placement = placement.Placement()
        self.store = store.Store(self.context)
        self.store.setUp()
        self.wishes: dict[str, Wish] = {}
        self.pending: list[Build] = []
        self.refusals: list[Refusal] = []
        self.lost: list[Build] = []
        self.fitting = 0
        self.audits = False
        self.attempts: dict[int, int] = dict.fromkeys(range(ATTEMPTS + 1), 0)
        self.hosts = {
            name: hosts.Host(name, kernel, self) for name, kernel in (
                (f'h{number:02}', kernel)
                for number, kernel in enumerate(kernels))}
        self.schedulers = [scheduling.Scheduler(self)
                           for _ in range(schedulers)]

    def close(self) -> None:
        self.store.cleanUp()

    # Servers.

    def host_of(self, uuid: str) -> hosts.Host:
        return self.hosts[self.store.instances[uuid].host]

    def state(self, uuid: str) -> tuple[str, str | None]:
        """(vm_state, host)"""
        found = self.store.instances[uuid]
        return found.vm_state, found.host

    def down(self) -> list[str]:
        return [name for name, host in self.hosts.items() if not host.up]

    def spec(self, wish: Wish, uuid: str, count: int = 1,
             ignore: Iterable[str] = ()) -> Any:
        """A RequestSpec; nothing is sent to hosts that are down."""
        return objects.RequestSpec(
            context=self.context, flavor=wish.flavor(),
            scheduler_hints=wish.hints(), numa_topology=wish.topology(),
            num_instances=count, project_id='p', user_id='u',
            pci_requests=objects.InstancePCIRequests(requests=[]),
            image=objects.ImageMeta(properties=objects.ImageMetaProps()),
            instance_uuid=uuid, instance_group=None, force_hosts=None,
            force_nodes=None, requested_destination=None, is_bfv=False,
            requested_resources=[], limits=objects.SchedulerLimits(),
            request_level_params=objects.RequestLevelParams(),
            retry=None, availability_zone=None,
            ignore_hosts=[*self.down(), *ignore])

    def scheduler(self, number: int) -> scheduling.Scheduler:
        return self.schedulers[number % len(self.schedulers)]

    def select(self, scheduler: int, wish: Wish, wanted: list[str],
               ignore: Iterable[str] = ()) -> Any:
        """Schedules; returns (spec, a list of selections for each server).

        :raises NoValidHost: noted in ``refusals``
        """
        chosen = self.scheduler(scheduler)
        spec = self.spec(wish, wanted[0], len(wanted), ignore)
        room = self.room(chosen, wish, spec.ignore_hosts)
        try:
            return spec, chosen.select(copy.deepcopy(spec), wanted)
        except nova_exception.NoValidHost:
            self.refusals.append(Refusal(wish, len(wanted), room))
            raise

    def room(self, scheduler: scheduling.Scheduler, wish: Wish,
             ignore: Iterable[str]) -> list[str]:
        """Returns the hosts where this request fits, as far as is known."""
        return self._with_room(scheduler.host_manager.view, wish, ignore)

    def _with_room(self, view: Mapping[str, Any], wish: Wish,
                   ignore: Iterable[str]) -> list[str]:
        amounts = {'CUSTOM_RT_BANDWIDTH': wish.ppm * wish.vcpus,
                   'CUSTOM_RT_SHARE': wish.ppm, 'VCPU': wish.vcpus}
        return [node.host for node in view.values()
                if node.host not in ignore
                and fits(node.stats, wish)
                and (not wish.cells
                     or fits_in_cells(node.stats, wish, self.cells))
                and self.placement.has_room(node.uuid, amounts)]

    def create(self, name: str, wish: Wish, count: int, scheduler: int
               ) -> bool:
        """Schedules *count* servers, which are built later."""
        wanted = [str(uuidlib.uuid5(_SPACE, f'{name}/{number}'))
                  for number in range(count)]
        try:
            spec, found = self.select(scheduler, wish, wanted)
        except nova_exception.NoValidHost:
            return False
        for uuid, selections in zip(wanted, found, strict=True):
            self.wishes[uuid] = wish
            self.store.add(self._instance(uuid, wish))
            self.pending.append(Build(uuid, spec, selections))
        return True

    def _instance(self, uuid: str, wish: Wish) -> Any:
        flavor = wish.flavor()
        return objects.Instance(
            context=self.context, id=len(self.store.instances) + 1,
            uuid=uuid, host=None, node=None, compute_id=None,
            launched_on=None, flavor=flavor, old_flavor=None,
            new_flavor=None, instance_type_id=flavor.id,
            vcpus=flavor.vcpus, memory_mb=64, root_gb=1, ephemeral_gb=0,
            vm_state=vm_states.BUILDING, task_state=task_states.SCHEDULING,
            power_state=0, project_id='p', user_id='u', os_type=None,
            image_ref=uuids.image, system_metadata={}, metadata={},
            resources=None, migration_context=None,
            numa_topology=wish.topology(),
            pci_requests=objects.InstancePCIRequests(
                instance_uuid=uuid, requests=[]),
            pci_devices=objects.PciDeviceList(objects=[]), deleted=False,
            hidden=False, display_name=uuid)

    # Builds.

    def build_one(self) -> set[str]:
        """Builds the server that was scheduled first; returns its hosts."""
        build, touched = self.pending[0], set()
        while build in self.pending:
            touched |= self.attempt(build)
        return touched

    def attempt(self, build: Build) -> set[str]:
        """Builds a server on one more host; returns the host."""
        build.tries += 1
        chosen = self._next(build, first=build.tries == 1)
        if chosen is None:
            self._built_at(build, 0)
            return set()
        if self._built(build, self.hosts[chosen.service_host]):
            self._built_at(build, build.tries)
        elif build.tries == ATTEMPTS:
            self._built_at(build, 0)
        return {chosen.service_host}

    def _built_at(self, build: Build, attempt: int) -> None:
        self.pending.remove(build)
        self.attempts[attempt] += 1
        if not attempt:
            self.lost.append(build)
            self.fitting += bool(self._with_room(
                self.store.nodes, self.wishes[build.uuid], self.down()))
            del self.store.instances[build.uuid]

    def _next(self, build: Build, first: bool) -> Any:
        """Returns the next host with room in Placement, like the conductor."""
        while build.selections:
            chosen = build.selections.pop(0)
            if first or self._allocate(build.uuid, build.spec, chosen):
                return chosen
        return None

    def _allocate(self, uuid: str, spec: Any, chosen: Any) -> bool:
        if not self.hosts[chosen.service_host].up:
            return False
        return bool(scheduler_utils.claim_resources(
            self.context, self.placement, spec, uuid,
            jsonutils.loads(chosen.allocation_request),
            chosen.allocation_request_version))

    def allocations(self, uuid: str) -> Mapping[str, Any]:
        return self.placement.get_allocations_for_consumer(
            self.context, uuid)

    def _built(self, build: Build, host: hosts.Host) -> bool:
        instance = self.store.load(build.uuid)
        request.note_hints(instance, build.spec.scheduler_hints)
        try:
            with host.rt.instance_claim(
                    self.context, instance, host.name,
                    self.allocations(build.uuid), None):
                if self.audits:
                    host.audit()  # before Nova itself saves the instance
                instance.task_state = task_states.SPAWNING
                instance.save()
                host.spawn(build.uuid, instance.flavor.vcpus)
        except REFUSED:
            host.destroy(build.uuid)
            instance.host = instance.node = instance.compute_id = None
            instance.task_state = task_states.SCHEDULING
            instance.save()
            self.placement.delete_allocation_for_instance(
                self.context, build.uuid)
            return False
        instance.vm_state, instance.task_state = vm_states.ACTIVE, None
        instance.save()
        return True

    # The following methods are what tenants do to servers that stay on their
    # host.

    def delete(self, uuid: str) -> None:
        host, instance = self.host_of(uuid), self.store.load(uuid)
        host.destroy(uuid)
        instance.vm_state, instance.task_state = vm_states.DELETED, None
        instance.save()
        host.rt.update_usage(self.context, instance, host.name)
        self.placement.delete_allocation_for_instance(self.context, uuid)
        del self.store.instances[uuid]

    def stop(self, uuid: str) -> None:
        host, instance = self.host_of(uuid), self.store.load(uuid)
        host.power_off(uuid)
        instance.vm_state = vm_states.STOPPED
        instance.save()
        host.rt.update_usage(self.context, instance, host.name)

    def start(self, uuid: str) -> None:
        host, instance = self.host_of(uuid), self.store.load(uuid)
        host.spawn(uuid, instance.flavor.vcpus)
        instance.vm_state = vm_states.ACTIVE
        instance.save()
        host.rt.update_usage(self.context, instance, host.name)


def fits(stats: Mapping[str, Any], wish: Wish) -> bool:
    """Fits by the map that a host published, without the product's code."""
    found = jsonutils.loads(stats['rt_map'])
    used = found['used']
    if not found['replicated']:
        return sum(ppm + wish.ppm <= found['cap']
                   for ppm in used) >= wish.vcpus
    if found['charged'] + wish.ppm > found['cap']:
        return False
    if 'fixed' not in found:
        return len(used) >= wish.vcpus
    return sum(_in_time(found, cpu, (wish.runtime, wish.period))
               for cpu in range(len(used))) >= wish.vcpus


def fits_in_cells(stats: Mapping[str, Any], wish: Wish, cells: int) -> bool:
    """Tries each order of the cells for room."""
    found = jsonutils.loads(stats['rt_map'])
    free = [sum(found['used'][cpu] + wish.ppm <= found['cap'] for cpu in cell)
            for cell in hosts.cells(cells)]
    needs = [len(cell.cpuset) for cell in wish.topology().cells]
    return any(all(map(operator.ge, order, needs))
               for order in itertools.permutations(free, len(needs)))


def _in_time(found: Mapping[str, Any], cpu: int, wanted: tuple[int, int]
             ) -> bool:
    """Checks that all servers of a pCPU keep time without EDF."""
    levels, tick, shortest = found['fixed']

    def level(period: int) -> int:
        scale = math.log2(max(1.0, period / 1024)) / 12
        return min(levels - 1, int(levels * scale))

    def needed(one: int, time: int) -> int:
        runtime, period = servers[one]
        total = runtime
        for number, (other, often) in enumerate(servers):
            if number != one and level(often) <= level(period):
                total += max(1, math.ceil(
                    (time + often - other) / often)) * other + tick
        return total

    servers = [wanted, *(
        (runtime, period) for runtime, period, ids in found['servers']
        for each in ids if each == cpu)]
    for one, (_, period) in enumerate(servers):
        time = 0
        while needed(one, time) > time and time <= period:
            time = needed(one, time)
        if time + tick > period or period < shortest:
            return False
    return True
