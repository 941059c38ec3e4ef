# SPDX-License-Identifier: Apache-2.0

"""Nova in one process; each fake host has an emulated kernel of its own.

API, scheduler, conductor, Placement and computes are real.  Nova's fixtures
fake libvirt, Glance, Neutron and Keystone.  Below the driver, the cgroup files
and /proc are replaced: see ``tests.emulation``.
"""

from collections.abc import Mapping
import os
import sys
from typing import Any

import fixtures
from nova.compute import api as compute_api
from nova import context as nova_context
from nova import objects
from nova.scheduler.client import report
from nova.scheduler import host_manager
from nova.scheduler import request_filter
from nova.tests import fixtures as nova_fixtures
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional.libvirt import base

from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services import conf as rt_conf
from tests.emulation import clock
from tests.emulation import kernels
from tests.emulation import rt_group_sched
from tests.emulation import tasks as emulated
from tests.functional import guests
from tests.functional import thrift
from tests.functional import waits

PCPUS = 4
RUNTIME = 'hw:cpu.rt_runtime_us'
PERIOD = 'hw:cpu.rt_period_us'
HINT_RUNTIME = 'cpu.rt_runtime_us'
HINT_PERIOD = 'cpu.rt_period_us'

_PASTE = os.path.join(sys.prefix, 'etc', 'nova', 'api-paste.ini')
_APP = 'osapi_compute_app_v21\n'


class TestCase(waits.Waits, base.ServersTestBase):
    """Computes with RTLibvirtDriver, loaded as in production."""

    ADMIN_API = True
    REQUIRES_LOCKING = False
    microversion = 'latest'
    #: the paste middleware
    MIDDLEWARE = True
    #: of [nova_rt]: hints count on each flavor, as in the paper
    TENANTS: Mapping[str, Any] = {
        'hint_override': 'any', 'hints_on_plain_flavors': True}
    #: of [libvirt]: lxc, or qemu
    VIRT_TYPE = 'lxc'
    #: The kernel of the hosts, by its name in tests.emulation.kernels.
    KERNEL = 'F1'
    #: RTShareFilter and RTShareWeigher
    SCHEDULING = True
    #: more of Nova's
    FILTERS: tuple[str, ...] = ()
    WEIGHERS: tuple[str, ...] = (
        'nova.scheduler.weights.all_weighers',
        'nova_rt.scheduler.weights.RTShareWeigher')

    def setUp(self) -> None:
        self.guests = guests.GuestGroups(self.VIRT_TYPE)
        self.clock = clock.Clock()
        self._configure()
        self.useFixture(thrift.Thrift())
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'futurist._thread.ThreadWorker.MAX_IDLE_FOR',
            thrift.IDLE_SECONDS))
        self._fake_lxc()
        self.useFixture(self.guests)
        self._emulate_kernels()

    def _configure(self) -> None:
        # Process-wide lists that RTShareFilter adds to.
        self.useFixture(fixtures.MonkeyPatch(
            'nova.scheduler.request_filter.ALL_REQUEST_FILTERS',
            list(request_filter.ALL_REQUEST_FILTERS)))
        self.useFixture(fixtures.MonkeyPatch(
            'nova.scheduler.host_manager.HostManager.host_state_cls',
            host_manager.HostManager.host_state_cls))
        self.useFixture(fixtures.MonkeyPatch(
            'nova.scheduler.client.report.SchedulerReportClient'
            '.get_allocation_candidates',
            report.SchedulerReportClient.get_allocation_candidates))
        for name in ('_provision_instances', 'resize', 'unshelve'):
            self.useFixture(fixtures.MonkeyPatch(
                f'nova.compute.api.API.{name}',
                getattr(compute_api.API, name)))
        self._one_cell()
        rt_conf.register_opts(base.CONF)
        self.flags(group='nova_rt', **self.TENANTS)
        self.flags(report_file=os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'report.json'),
            group='nova_rt')
        self.flags(api_paste_config=self._paste(), group='wsgi')
        self.flags(virt_type=self.VIRT_TYPE, group='libvirt')
        self.flags(cpu_allocation_ratio=64.0)
        for name in ('instances', 'cores', 'ram'):
            self.flags(group='quota', **{name: -1})

    def _one_cell(self) -> None:
        """Targets cells as production does.

        Nova's fixture switches one global for all threads, under a lock
        that conductor threads keep while they wait for others: with many
        requests at once that is a deadlock.  There is one cell here, which
        all contexts without a target mean.
        """
        def target(cells: Any, context: Any, mapping: Any) -> Any:
            return cells._real_target_cell(context, mapping)

        def manager(cells: Any, context: Any) -> Any:
            return (getattr(context, 'db_connection', None)
                    or cells._default_ctxt_mgr)

        for name, new in (('_wrap_target_cell', target),
                          ('_wrap_get_context_manager', manager)):
            self.useFixture(fixtures.MockPatchObject(
                nova_fixtures.CellDatabases, name, new))

    def _paste(self) -> str:
        with open(_PASTE) as source:
            text = source.read()
        if self.MIDDLEWARE:
            text = text.replace(_APP, 'nova_rt ' + _APP) + (
                '\n[filter:nova_rt]\nuse = egg:nova-rt#reservation_hints\n')
        path = os.path.join(self.useFixture(fixtures.TempDir()).path,
                            'api-paste.ini')
        with open(path, 'w') as target:
            target.write(text)
        return path

    def _setup_compute_service(self) -> None:
        self.flags(compute_driver='nova_rt.RTLibvirtDriver')

    def _setup_scheduler_service(self) -> Any:
        if self.SCHEDULING:
            self.flags(
                group='filter_scheduler',
                available_filters=[
                    'nova.scheduler.filters.all_filters',
                    'nova_rt.scheduler.filters.RTShareFilter'],
                enabled_filters=[
                    'ComputeFilter', 'ImagePropertiesFilter',
                    *self.FILTERS, 'RTShareFilter'],
                weight_classes=list(self.WEIGHERS))
        return self.start_service('scheduler')

    def _fake_lxc(self) -> None:
        """Replaces Nova's steps on the root file system of a container."""
        for name in ('setup_container', 'teardown_container',
                     'clean_lxc_namespace'):
            self.useFixture(fixtures.MockPatch(
                f'nova.virt.disk.api.{name}', return_value=None))
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.host.Host.get_online_cpus',
            lambda host: set(range(PCPUS))))
        mocked = self.mock_conn

        def get_connection(self: Any) -> Any:
            return mocked.return_value

        # With the signature that the self-check requires.
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.host.Host.get_connection',
            get_connection))

    def _emulate_kernels(self) -> None:
        hosts = self.guests.hosts
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.services.virt.libvirt.driver.RTLibvirtDriver._rt_files',
            lambda driver: hosts[driver.virtapi._compute.host].kernel))
        for name, new in (
                *emulated.THREADS.items(),
                ('nova_rt.machine.privsep.cgroup_pctxt.client_mode', False),
                ('nova_rt.machine.host.namespaces.trouble', lambda host: ''),
                ('nova_rt.machine.kernel.tree.time', self.clock),
                ('rt_hcbs.fragile.time', self.clock),
                ('nova_rt.machine.kernel.tasks.Tasks', emulated.EmulatedTasks),
                ('nova_rt.machine.privsep.read_pid', guests.read_pid),
                ('nova_rt.services.virt.libvirt.driver.libvirt', fakelibvirt)):
            self.useFixture(fixtures.MonkeyPatch(name, new))

    # Hosts.

    def start_host(self, name: str = 'host1', cell: str | None = None
                   ) -> str:
        """Starts a compute with PCPUS pCPUs and a kernel of its own.

        :param cell: None for the first
        """
        if name not in self.guests.hosts:
            self.guests.hosts[name] = emulated.Guests(
                kernels.KERNELS[self.KERNEL](PCPUS, self.clock))
        self.start_compute(name, fakelibvirt.HostInfo(
            cpu_nodes=1, cpu_sockets=1, cpu_cores=PCPUS, cpu_threads=1),
            cell_name=cell)
        return name

    def kernel(self, host: str = 'host1') -> Any:
        return self.guests.hosts[host].kernel

    def audit(self, host: str = 'host1') -> None:
        """Runs Nova's periodic audit of one compute."""
        self.computes[host].manager.update_available_resource(
            nova_context.get_admin_context())

    # Requests.

    def rt_flavor(self, runtime: int | None = 100_000,
                  period: int | None = 200_000, vcpus: int = 1,
                  **extra: str) -> str:
        """Creates a flavor; returns its id. In *extra*, ``__`` means ``:``."""
        specs = {key.replace('__', ':'): value
                 for key, value in extra.items()}
        if runtime is not None:
            specs[RUNTIME] = str(runtime)
        if period is not None:
            specs[PERIOD] = str(period)
        return str(self._create_flavor(
            vcpu=vcpus, memory_mb=64, disk=1, ephemeral=0, extra_spec=specs))

    def request(self, flavor: str, hints: dict[str, Any] | None = None,
                count: int = 1) -> dict[str, Any]:
        """Returns the body of a request that creates *count* servers."""
        body: dict[str, Any] = {'server': self._build_server(
            flavor_id=flavor, networks='none')}
        if count > 1:
            body['server'] |= {'min_count': count, 'max_count': count}
        if hints:
            body['os:scheduler_hints'] = hints
        return body

    def post(self, flavor: str, hints: dict[str, Any] | None = None,
             count: int = 1) -> dict[str, Any]:
        return dict(self.api.post_server(
            self.request(flavor, hints, count)))

    def boot(self, flavor: str, hints: dict[str, Any] | None = None,
             status: str = 'ACTIVE') -> dict[str, Any]:
        """Creates a server and waits for its *status*."""
        created = self.post(flavor, hints)
        return dict(self._wait_for_state_change(created, status))

    # The following methods return who holds how much, and where.

    def instance(self, server: dict[str, Any]) -> Any:
        return objects.Instance.get_by_uuid(
            self.cell_context(), server['id'], expected_attrs=['resources'])

    def cell_context(self) -> Any:
        context = nova_context.get_admin_context()
        nova_context.set_target_cell(context, self.cell_mappings['cell1'])
        return context

    def claim(self, server: dict[str, Any]) -> claims.RTClaim | None:
        return claims.instance_claim(self.instance(server))

    def stats(self, host: str = 'host1') -> dict[str, str]:
        return dict(objects.ComputeNode.get_first_node_by_host_for_old_compat(
            self.cell_context(), host).stats)

    def host_map(self, host: str = 'host1') -> hostmap.HostMap:
        found = hostmap.from_stats(self.stats(host))
        self.assertIsNotNone(found)
        assert found is not None
        return found

    def allocated(self, server: dict[str, Any]) -> tuple[int, ...]:
        """Returns the ppm of each class that Placement holds for a server.

        On all providers: the sum over its vCPUs, and the share of one vCPU.
        """
        found = self._get_allocations_by_server_uuid(server['id'])
        return tuple(sum(each['resources'].get(name, 0)
                         for each in found.values())
                     for name in hostmap.CLASSES)

    def usage(self, host: str = 'host1') -> tuple[int, ...]:
        """Returns the ppm of each class in use at a provider."""
        found = self._get_provider_usages(self.compute_rp_uuids[host])
        return tuple(int(found.get(name, 0)) for name in hostmap.CLASSES)

    def inventories(self, host: str = 'host1') -> dict[str, dict[str, Any]]:
        """Returns what a provider has of our classes."""
        found = self._get_provider_inventory(self.compute_rp_uuids[host])
        return {name: each for name, each in found.items()
                if name in hostmap.CLASSES}

    def offered(self, amounts: Mapping[str, int]) -> set[str]:
        """Returns the hosts that are Placement's candidates for *amounts*."""
        resources = ','.join(f'{name}:{amount}'
                             for name, amount in amounts.items())
        found = self.placement.get(
            f'/allocation_candidates?resources={resources}'
            f'&required={hostmap.TRAIT}', version='1.36').body
        return {host for host, uuid in self.compute_rp_uuids.items()
                if uuid in found['provider_summaries']}

    def traits(self, host: str = 'host1') -> list[str]:
        return list(self._get_provider_traits(self.compute_rp_uuids[host]))

    def domain(self, server: dict[str, Any], host: str = 'host1') -> Any:
        connection = self.computes[host].driver._host.get_connection()
        return connection.lookupByUUIDString(server['id'])

    def keeper(self, server: dict[str, Any], host: str = 'host1') -> int:
        """Returns the id of the domain of a running server."""
        return int(self.domain(server, host).ID())

    def group(self, server: dict[str, Any], host: str = 'host1') -> str:
        return self.guests.hosts[host].group(self.keeper(server, host))

    def granted(self, server: dict[str, Any], host: str = 'host1'
                ) -> dict[int, tuple[int, int]]:
        """Returns (runtime, period) in the kernel by pCPU."""
        return self.kernel(host).granted().get(
            self.group(server, host), {})

    def budget(self, server: dict[str, Any], host: str = 'host1'
               ) -> tuple[int, int]:
        """Returns (runtime, period) in the kernel, equal on all its pCPUs."""
        found = set(self.granted(server, host).values()) or {(0, 0)}
        self.assertEqual(1, len(found), found)
        return found.pop()

    def kernel_budgets(self, host: str = 'host1'
                       ) -> dict[str, dict[int, tuple[int, int]]]:
        """Returns what groups below the root hold, by pCPU."""
        return self.kernel(host).granted()

    def guest_ppm(self, host: str) -> dict[int, int]:
        """Returns the ppm that the guests hold on each pCPU."""
        held = dict.fromkeys(range(PCPUS), 0)
        for group, lanes in self.kernel(host).granted().items():
            if group.startswith('/machine/'):
                for cpu, pair in lanes.items():
                    held[cpu] += reservation.Reservation(*pair).bandwidth
        return held

    def holds_all(self, host: str) -> bool:
        """Returns whether the top group holds all bandwidth, or none.

        Mainline throttles parents, so that the top group holds all bandwidth
        while any guest has a budget.
        """
        return isinstance(self.kernel(host), rt_group_sched.Kernel)

    def assert_tight(self, host: str = 'host1') -> None:
        """Checks that the top group has no room that a guest could take."""
        top = self.kernel(host).granted().get('/machine', {})
        held = self.guest_ppm(host)
        if self.holds_all(host) and any(held.values()):
            held = dict.fromkeys(held, self.kernel(host).sysctl[0])
        self.assertEqual(
            held, {cpu: top.get(cpu, (0, 0))[0] for cpu in range(PCPUS)})

    def assert_nothing_left(self, *hosts: str) -> None:
        """Checks that there is no claim, no allocation and no budget."""
        for host in hosts or ('host1',):
            self.assertEqual([], self.computes[host].manager.rt.rt_claims())
            self.assertEqual((0, 0), self.usage(host))
            self.assertEqual({}, self.kernel_budgets(host))
            self.assertEqual('0.000', self.stats(host)[hostmap.SHARE_USED])
            self.assertEqual({0}, set(self.host_map(host).state.used))

    def fault(self, server: dict[str, Any]) -> str:
        return str(server['fault']['message'])


class PerCpuTestCase(TestCase):
    """The kernels have a runtime for each CPU (F2m)."""

    KERNEL = 'F2m'
