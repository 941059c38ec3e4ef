# SPDX-License-Identifier: Apache-2.0

"""Tests a claim as text, and among Nova's resources."""

import dataclasses
import re

import hypothesis
from hypothesis import strategies as st
from nova import objects
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from tests.unit import base

CLAIM = claims.RTClaim(uuids.server, 7, reservation.Reservation(1000, 2000),
                       (3, 0), {'cpu.rt_runtime_us': 1000})

#: The form that versions without masks knew.
_OLD_FORM = (
    r'(?P<uuid>[0-9a-f-]{36})/(?P<move>[0-9]+)'
    r';r=(?P<r>[1-9][0-9]*);p=(?P<p>[1-9][0-9]*)'
    r';h=(?P<hr>[0-9]*),(?P<hp>[0-9]*);c=(?P<c>[0-9]+(,[0-9]+)*)')
_NUMBERS = st.integers(1, 10 ** 9)
_CLAIMS = st.builds(
    claims.RTClaim, st.uuids().map(str), st.integers(0, 10 ** 9),
    st.builds(reservation.Reservation, _NUMBERS, _NUMBERS),
    st.lists(st.integers(0, 999), min_size=1, unique=True).map(tuple),
    st.dictionaries(st.sampled_from(reservation.KEYS), _NUMBERS))


@st.composite
def _masked(draw):
    """Claims with and without unreserved vCPUs, hard and soft ones."""
    claim = draw(_CLAIMS)
    vcpus = len(claim.cpus) + draw(st.integers(0, 5))
    unreserved = draw(st.permutations(range(vcpus)))[len(claim.cpus):]
    return dataclasses.replace(
        claim, unreserved=tuple(sorted(unreserved)), soft=draw(st.booleans()),
        divisor=draw(st.sampled_from((1, 1, 2, 7, 10, 419))))


class RTClaimTest(base.TestCase):

    def test_text(self):
        self.assertEqual(f'{uuids.server}/7;r=1000;p=2000;h=1000,;c=3,0',
                         CLAIM.identifier)

    @hypothesis.given(_masked())
    @base.PROPERTY
    def test_round_trip(self, claim):
        self.assertEqual(claim, claims.RTClaim.parse(claim.identifier))

    @hypothesis.given(_masked())
    @base.PROPERTY
    def test_old_versions_refuse_new_forms_whole_and_read_all_else(
            self, claim):
        match = re.fullmatch(_OLD_FORM, claim.identifier)
        self.assertEqual(
            not claim.unreserved and not claim.soft and claim.divisor == 1,
            match is not None)

    def test_vcpus_without_a_reservation(self):
        claim = claims.RTClaim(uuids.server, 0, CLAIM.reservation, (3, 5),
                               unreserved=(0,))
        self.assertTrue(claim.identifier.endswith(';c=-,3,5'))
        self.assertEqual((None, 3, 5), claim.places)
        self.assertEqual({1: 3, 2: 5}, claim.by_vcpu)
        self.assertEqual((3, 0), CLAIM.places)

    def test_a_soft_reservation(self):
        claim = dataclasses.replace(CLAIM, soft=True)
        self.assertEqual(CLAIM.identifier + ';soft', claim.identifier)
        self.assertNotEqual(CLAIM, claims.RTClaim.parse(claim.identifier))

    def test_divided_for_the_kernel(self):
        claim = dataclasses.replace(CLAIM, divisor=10)
        self.assertEqual(CLAIM.identifier + ';k=10', claim.identifier)
        self.assertEqual(reservation.Reservation(100, 200), claim.in_kernel)
        self.assertEqual(CLAIM.reservation, claim.reservation)
        self.assertEqual(CLAIM.reservation, CLAIM.in_kernel)
        self.assertTrue(dataclasses.replace(
            claim, soft=True).identifier.endswith(';k=10;soft'))

    def test_the_kernel_counts_what_it_has(self):
        claim = dataclasses.replace(CLAIM, divisor=10)
        empty = cpus.CpuBandwidth.empty((0, 3), 950_000, True, base.FIXED)
        self.assertEqual([((3, 0), claim.in_kernel)],
                         list(claims.counted([claim], empty)))

    def test_not_ours(self):
        good = CLAIM.identifier
        for text in (good + ';', good + ';hard', good + ';soft;soft',
                     good + 'soft', '', 'pmem-1', good + ';k=1',
                     good + ';k=0', good + ';k=', good + ';k=02',
                     good + ';soft;k=2', good + ';k=2;k=2', good + ';x=1',
                     '2:' + good, 'x' + good,
                     good + '\n',
                     good.replace('r=1000', 'r='),
                     good.replace('c=3,0', 'c='),
                     good.replace('c=3,0', 'c=,'), good + ',',
                     good.replace('c=3,0', 'c=3,,0'),
                     good.replace('c=3,0', 'c=-'),
                     good.replace('c=3,0', 'c=-,-'),
                     good.replace('c=3,0', 'c=--,3'),
                     good.replace('p=2000', 'p=0'),
                     good.replace('7;', '-7;')):
            error = self.assertRaises(exception.InvalidClaim,
                                      claims.RTClaim.parse, text)
            self.assertIn(repr(text), str(error))

    def test_resource(self):
        resource = CLAIM.to_resource(uuids.node)
        self.assertEqual(
            (uuids.node, 'CUSTOM_RT_BANDWIDTH', CLAIM.identifier),
            (resource.provider_uuid, resource.resource_class,
             resource.identifier))

    def test_claims_of_an_instance(self):
        other = objects.Resource(
            provider_uuid=uuids.node, resource_class='CUSTOM_PMEM_NAMESPACE',
            identifier='pmem-1')
        resources = [other, CLAIM.to_resource(uuids.node)]
        self.assertEqual([CLAIM], claims.parse_resources(resources))
        self.assertEqual(
            CLAIM, claims.instance_claim(base.instance(resources=resources)))

    def test_instance_without_a_claim(self):
        server = base.instance()
        self.assertIsNone(claims.instance_claim(server))
        server.resources = None
        self.assertIsNone(claims.instance_claim(server))


class OnHostTest(base.TestCase):
    """Tests which claim counts on which end of a move."""

    def setUp(self):
        super().setUp()
        self.moved = claims.RTClaim(uuids.server, 8, CLAIM.reservation, (5,))
        self.server = base.instance(
            resources=[CLAIM.to_resource(uuids.source)])
        self.server.host = 'source'
        self.server.migration_context = objects.MigrationContext(
            old_resources=self.server.resources,
            new_resources=objects.ResourceList(
                objects=[self.moved.to_resource(uuids.target)]))

    def on(self, host):
        return claims.on_host(self.server, host, [getattr(uuids, host)])

    def test_both_ends_of_a_move(self):
        self.assertEqual(CLAIM, self.on('source'))
        self.assertEqual(self.moved, self.on('target'))
        self.assertIsNone(self.on('elsewhere'))

    def test_the_destination(self):
        self.assertEqual(self.moved, claims.destination_claim(self.server))
        self.server.migration_context = None
        self.assertIsNone(claims.destination_claim(self.server))

    def test_resized_where_it_is_to_no_reservation(self):
        """The old claim is kept for a revert and applies no more."""
        self.server.resources = None
        self.server.migration_context.new_resources = None
        self.assertIsNone(self.on('source'))
