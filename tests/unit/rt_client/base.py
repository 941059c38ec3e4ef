# SPDX-License-Identifier: Apache-2.0

"""A cloud that answers as nova-api and Placement do, without a network.

tests.functional.test_reading runs the commands against a real nova-api.
"""

import json
import types
import unittest

import requests

from nova_rt.rules import hostmap
from rt_client import cloud
from tests.unit import base


class Adapter:
    """Answers of an adapter of openstacksdk, by the beginning of a path."""

    def __init__(self, answers):
        self.answers = answers
        self.asked, self.made, self.refused = [], {}, None
        self.named = {}

    def find_flavor(self, name, get_extra_specs):
        return self.named.get(name)

    def find_server(self, name, all_projects=False):
        return self.named.get(name)

    def create_flavor(self, **what):
        made = types.SimpleNamespace(id='new', **what)
        self.made[made.id] = made
        return made

    def create_flavor_extra_specs(self, made, specs):
        if self.refused:
            raise self.refused
        made.specs = specs

    def delete_flavor(self, made):
        del self.made[made.id]

    def get(self, path, **options):
        self.asked.append(path)
        answer = requests.Response()
        answer.url, answer.status_code = path, 404
        answer.headers['Content-Type'] = 'application/json'
        answer._content = b'{}'
        for begin, found in self.answers.items():
            if path.startswith(begin):
                answer.status_code = found[0]
                body = found[1](path) if callable(found[1]) else found[1]
                answer._content = json.dumps(body).encode()
        return answer


def host(name, used, **options):
    """A host as the compute API answers."""
    found = hostmap.HostMap(
        base.host_map(used).state, 'worst_fit', **options)
    return {'host': name, 'node': name, 'provider': 'uuid-of-' + name,
            'stats': hostmap.to_stats(found)}


def server(number=1, host='', pcpus=(), runtime=40_000, period=100_000,
           soft=False, **more):
    found = {'id': f'{number:08d}-0000-0000-0000-000000000000',
             'name': f's{number}', 'project_id': 'p', 'state': 'active',
             'vcpus': len(pcpus) or 1, 'runtime_us': runtime,
             'period_us': period, **more}
    if host:
        found |= {'host': host, 'claims': [{
            'provider': 'uuid-of-' + host, 'pcpus': list(pcpus),
            'runtime_us': runtime, 'period_us': period, 'soft': soft}]}
    return found


class TestCase(unittest.TestCase):

    hosts = ()
    servers = ()
    up = ('up', 'enabled')

    def setUp(self):
        super().setUp()
        self.compute = Adapter({
            '/nova-rt/hosts': (200, {'hosts': list(self.hosts)}),
            '/nova-rt/servers': (200, {'servers': list(self.servers),
                                       'next': ''}),
            '/os-services': (200, {'services': [
                {'host': each['host'], 'state': self.up[0],
                 'status': self.up[1]} for each in self.hosts]})})
        self.placement = Adapter({})
        self.cloud = cloud.Cloud(self.compute, self.placement)

    def run_command(self, kind, *words):
        """Runs a command; returns what the command returns to cliff."""
        manager = types.SimpleNamespace(
            rt=self.cloud, auth_ref=types.SimpleNamespace(project_id='own'))
        app = types.SimpleNamespace(client_manager=manager)
        command = kind(app, None)
        return command.take_action(
            command.get_parser('test').parse_args(words))

    def rows(self, kind, *words):
        """Returns the rows as texts, as a person reads them."""
        _, rows = self.run_command(kind, *words)
        return [[str(cell) for cell in row] for row in rows]
