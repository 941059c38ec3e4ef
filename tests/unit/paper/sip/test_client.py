# SPDX-License-Identifier: Apache-2.0

import struct
import unittest

from paper.sip import client

FILE_HEADER = bytes(24)


def packet(time_us, line, call):
    content = f'....{line}\r\nCall-ID: {call}\r\n\r\n'.encode()
    return struct.pack('=IIII', *divmod(time_us, 1_000_000), len(content),
                       len(content)) + content


class RoundTripsTest(unittest.TestCase):

    def round_trips(self, *packets):
        return client.round_trips_us(
            FILE_HEADER + b''.join(packets)).tolist()

    def test_from_first_request_to_last_reply(self):
        self.assertEqual([700_010], self.round_trips(
            packet(1_400_000, 'REGISTER sip:a', '1@b'),
            packet(1_500_000, 'SIP/2.0 401 Unauthorized', '1@b'),
            packet(2_000_000, 'REGISTER sip:a', '1@b'),
            packet(2_100_010, 'SIP/2.0 200 OK', '1@b')))

    def test_calls_overlap(self):
        self.assertEqual([25, 30], self.round_trips(
            packet(10, 'REGISTER sip:a', '1@b'),
            packet(15, 'REGISTER sip:a', '2@b'),
            packet(40, 'SIP/2.0 200 OK', '2@b'),
            packet(40, 'SIP/2.0 200 OK', '1@b')))

    def test_unfinished(self):
        last = packet(40, 'SIP/2.0 200 OK', '1@b')
        self.assertEqual([], self.round_trips(
            packet(10, 'REGISTER sip:a', '1@b'), last[:-1]))

    def test_repeated_reply(self):
        self.assertEqual([30], self.round_trips(
            packet(10, 'REGISTER sip:a', '1@b'),
            packet(40, 'SIP/2.0 200 OK', '1@b'),
            packet(50, 'SIP/2.0 200 OK', '1@b')))
