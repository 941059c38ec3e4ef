# SPDX-License-Identifier: Apache-2.0

"""VNF packages through Tacker's v2 API, down to the kernel."""

from typing import Any

from demo import package
from demo import tacker

from tests.full import base
from tests.full import storm


class TackerTestCase(base.FullTestCase):

    def setUp(self) -> None:
        super().setUp()
        self.tacker = tacker.Tacker(self.cloud, base.PATIENCE)
        self.addCleanup(self.assert_clean)
        self.flavor(package.FLAVOR)

    def vnf(self, sample: str, runtime: int = 0) -> str:
        """On-boards and instantiates a sample; returns the VNF.

        :param runtime: asked for in the request, which wins
        """
        request = package.request(sample, 'instantiate')
        if runtime:
            request['additionalParams']['nfv'] = {'VDU': {'VDU1': {
                'cpu.rt_runtime_us': runtime}}}
        return self.instantiated(self.onboarded(sample), request)

    def onboarded(self, sample: str, folder: str = 'package',
                  **replaced: str) -> str:
        """On-boards a sample; returns the id of the descriptor."""
        onboarded = self.tacker.onboard(package.packed(
            sample, base.IMAGES['lxc'], folder,
            {old.strip('_'): new for old, new in replaced.items()}))
        self.assertEqual('ONBOARDED', onboarded['onboardingState'])
        self.addCleanup(self.tacker.remove_package, onboarded['id'])
        return str(onboarded['vnfdId'])

    def instantiated(self, vnfd: str, request: dict[str, Any]) -> str:
        """The VNF."""
        vnf = self.created(vnfd)
        self.tacker.instantiate(vnf, request)
        self.addCleanup(self.tacker.operate, vnf, 'terminate',
                        package.TERMINATE)
        return vnf

    def created(self, vnfd: str) -> str:
        vnf = self.tacker.create(vnfd, self.id())
        self.addCleanup(self.tacker.delete, vnf)
        return vnf

    def servers(self, vnf: str) -> list[base.host.Server]:
        """Returns its servers, as the host has them."""
        nova = storm.Nova(self.cloud)
        shown = map(nova.show, self.tacker.servers(vnf))
        return [self.running(server['name']) for server in shown if server]

    def assert_all_reserved(self, vnf: str, count: int, runtime: int,
                            period: int) -> None:
        servers = self.servers(vnf)
        self.assertEqual(count, len(servers))
        for server in servers:
            self.assert_reserved(server, runtime, period)

    def test_hints(self):
        self.assert_all_reserved(self.vnf('sol001-hints'), 1, 60_000, 100_000)

    def test_heal(self):
        # Heat makes the new server before it ends the old one, so both must
        # fit.
        vnf = self.vnf('sol001-hints', 30_000)
        self.assert_all_reserved(vnf, 1, 30_000, 100_000)
        before = self.tacker.servers(vnf)
        self.tacker.operate(vnf, 'heal',
                            package.request('sol001-hints', 'heal'))
        self.assertNotEqual(before, self.tacker.servers(vnf))
        self.assert_all_reserved(vnf, 1, 30_000, 100_000)

    def test_change_of_package(self):
        # Both servers must fit here, too.
        before = self.onboarded('change-vnfpkg', 'before', _60000='20000')
        after = self.onboarded('change-vnfpkg', 'after', _80000='30000')
        vnf = self.instantiated(before, package.request(
            'change-vnfpkg', 'instantiate'))
        self.assert_all_reserved(vnf, 1, 20_000, 100_000)
        request = package.request('change-vnfpkg', 'change')
        self.assertEqual(after, request['vnfdId'])
        self.tacker.operate(vnf, 'change_vnfpkg', request)
        self.assert_all_reserved(vnf, 1, 30_000, 100_000)

    def test_change_of_package_of_individual_servers(self):
        sample = 'sol001-individual'
        vnfd = self.onboarded(sample)
        changed = self.onboarded(sample, _20000='25000', d3c1e05='d3c1e15')
        request = package.request(sample, 'instantiate')
        del request['instantiationLevelId']
        vnf = self.instantiated(vnfd, request)
        self.assert_all_reserved(vnf, 1, 20_000, 100_000)
        self.tacker.operate(vnf, 'change_vnfpkg', {
            'vnfdId': changed, 'additionalParams': {
                'upgrade_type': 'RollingUpdate',
                'vdu_params': [{'vdu_id': 'VDU1'}],
                **request['additionalParams']}})
        self.assert_all_reserved(vnf, 1, 25_000, 100_000)

    def test_a_wish_that_cannot_be_given(self):
        vnf = self.vnf('sol001-hints', 30_000)
        request = package.request('sol001-hints', 'heal')
        request['additionalParams']['nfv'] = {'VDU': {'VDU1': {
            'cpu.rt_runtime_us': 999_999_999}}}
        refused = self.assertRaises(tacker.Refused, self.tacker.operate, vnf,
                                    'heal', request)
        self.assertIn('a request to heal cannot ask for a reservation',
                      str(refused))
        self.assert_all_reserved(vnf, 1, 30_000, 100_000)

    def test_a_request_without_user_data(self):
        vnf = self.created(self.onboarded('sol001-hints'))
        request = package.request('sol001-hints', 'instantiate')
        del request['additionalParams']
        refused = self.assertRaises(tacker.Refused, self.tacker.instantiate,
                                    vnf, request)
        self.assertIn('the request must name lcm-operation-user-data',
                      str(refused))

    def test_flavor(self):
        self.flavor('flavor_rt1', '--property hw:cpu.rt_runtime_us=100000 '
                    '--property hw:cpu.rt_period_us=200000')
        self.assert_all_reserved(
            self.vnf('sol001-flavor'), 1, 100_000, 200_000)

    def test_made_flavor(self):
        self.assert_all_reserved(
            self.vnf('sol001-made-flavor'), 1, 60_000, 100_000)

    def test_scaling(self):
        self._scales('sol001-scaling')

    def test_scaling_of_individual_servers(self):
        self._scales('sol001-individual')

    def _scales(self, sample: str) -> None:
        vnf = self.vnf(sample)
        self.assert_all_reserved(vnf, 2, 20_000, 100_000)
        self.tacker.operate(vnf, 'scale',
                            package.request(sample, 'scale-out'))
        self.assert_all_reserved(vnf, 3, 20_000, 100_000)
        self.tacker.operate(vnf, 'scale', package.request(sample, 'scale-in'))
        self.assert_all_reserved(vnf, 2, 20_000, 100_000)
