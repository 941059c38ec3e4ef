# SPDX-License-Identifier: Apache-2.0

"""A VNF package with a reservation in its descriptor, through Tacker."""

import json
import pathlib

from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib import decorators

from nova_rt_tempest_plugin.tests.scenario import base
from nova_rt_tempest_plugin.tests.scenario import vnfm

CONF = config.CONF


class VnfTest(base.ReservationTest):

    @classmethod
    def skip_checks(cls) -> None:
        super().skip_checks()
        if not CONF.nova_rt.vnf_package:
            raise cls.skipException(
                'No VNF package: [nova_rt] vnf_package, vnf_request.')

    @classmethod
    def setup_clients(cls) -> None:
        super().setup_clients()
        cls.vnfm = vnfm.VnfmClient(
            cls.os_admin.auth_provider, CONF.nova_rt.vnfm_catalog_type,
            CONF.identity.region, build_interval=CONF.compute.build_interval,
            build_timeout=CONF.compute.build_timeout)

    @decorators.idempotent_id('f9194993-c339-4c5a-a218-c842a0c7d3b6')
    def test_vnf(self) -> None:
        package = self.vnfm.onboard(
            pathlib.Path(CONF.nova_rt.vnf_package).read_bytes())
        self.addCleanup(self.vnfm.remove_package, package['id'])
        vnf = self.vnfm.create(package['vnfdId'], data_utils.rand_name(
            prefix=CONF.resource_name_prefix, name='vnf'))
        self.addCleanup(self.vnfm.remove, vnf)
        request = pathlib.Path(CONF.nova_rt.vnf_request).read_text()
        self.vnfm.operate(vnf, 'instantiate', json.loads(request))
        try:
            servers = self.vnfm.servers(vnf)
            self.assertNotEqual([], servers)
            for server in servers:
                self.assert_reserved(server, CONF.nova_rt.vnf_bandwidth)
        finally:
            self.vnfm.operate(vnf, 'terminate',
                              {'terminationType': 'FORCEFUL'})
        for server in servers:
            self.assert_released(server)
