# SPDX-License-Identifier: Apache-2.0

"""nova_rt.services.announce: each part names its version once."""

import fixtures
from oslotest import base

from nova_rt.services import announce
from nova_rt.services.api import middleware
from nova_rt.services.scheduler.filters import rt_share_filter
from nova_rt import version


class AnnounceTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        announce.log_version.cache_clear()
        self.addCleanup(announce.log_version.cache_clear)
        self.log = self.useFixture(fixtures.FakeLogger())

    def lines(self, part):
        return self.log.output.splitlines().count(
            f'nova-rt {version.get()}: {part}')

    def test_the_middleware(self):
        for _ in range(2):
            middleware.filter_factory({})(None)
        self.assertEqual(1, self.lines('reservation_hints of nova-api'))

    def test_the_filter(self):
        for _ in range(2):
            rt_share_filter.RTShareFilter()
        self.assertEqual(1, self.lines('RTShareFilter of nova-scheduler'))
