# SPDX-License-Identifier: Apache-2.0

"""The stand-in for the openstack client does what the real one does."""

import io
import json
from unittest import mock

import fixtures
from openstack.compute.v2 import flavor as sdk_flavor
from openstack import exceptions as sdk_exceptions
from openstackclient.compute.v2 import flavor as real
import testscenarios

from tests.devstack import base
from tests.devstack import client

GOOD = {'hw:cpu.rt_runtime_us': '1000', 'hw:cpu.rt_period_us': '2000'}
HALF = {'hw:cpu.rt_runtime_us': '1000'}
BAD = {'hw:cpu.rt_runtime_us': '3000', 'hw:cpu.rt_period_us': '2000'}
WORD = {'hw:cpu.rt_runtime_us': 'abc'}


class Compute:
    """The SDK's view of a Nova that refuses BAD and WORD."""

    def __init__(self) -> None:
        self.specs: dict[str, str] = {}

    def _flavor(self):
        return sdk_flavor.Flavor(id='1', name='a', extra_specs=self.specs)

    def create_flavor(self, **fields):
        return self._flavor()

    def find_flavor(self, name, **more):
        return self._flavor()

    def fetch_flavor_extra_specs(self, flavor):
        return self._flavor()

    def create_flavor_extra_specs(self, flavor, specs):
        if specs in (BAD, WORD):
            raise sdk_exceptions.BadRequestException('400')
        self.specs |= specs
        return self._flavor()


class ClientTest(testscenarios.WithScenarios, base.DevStackTestCase):

    scenarios = [
        (f'{verb} {text}', {'verb': verb, 'given': given})
        for verb in ('create', 'set')
        for text, given in (('good', GOOD), ('half', HALF), ('bad', BAD),
                            ('word', WORD), ('none', {}))]

    def setUp(self):
        super().setUp()
        self.configure(*base.CONTROLLER)
        self.has_flavors(**({'a': {}} if self.verb == 'set' else {}))
        self.words = [*(word for key, value in self.given.items()
                        for word in ('--property', f'{key}={value}')), 'a']
        self.useFixture(fixtures.FakeLogger())
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', io.StringIO()))
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', io.StringIO()))

    def stand_in(self):
        status = client.main(str(self.variables['FLAVORS']),
                             str(self.conf_file), self.verb, *self.words)
        return status, self.flavors()['a']

    def real(self):
        app, compute = mock.Mock(), Compute()
        app.client_manager.compute = compute
        identity = app.client_manager.sdk_connection.identity
        identity.api_version = '3'
        kind = {'create': real.CreateFlavor, 'set': real.SetFlavor}[self.verb]
        command = kind(app, None)
        arguments = command.get_parser('x').parse_args(self.words)
        try:
            command.take_action(arguments)
        except real.exceptions.CommandError:
            return 1, compute.specs
        return 0, compute.specs

    def test_status_and_what_is_left(self):
        self.assertEqual(self.real(), self.stand_in())


class ShowTest(base.DevStackTestCase):

    def test_as_json(self):
        """The plugin reads this output."""
        self.configure(*base.CONTROLLER)
        self.has_flavors(a=GOOD)
        printed = self.useFixture(fixtures.StringStream('stdout')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', printed))
        client.main(str(self.variables['FLAVORS']), str(self.conf_file),
                    'show', '-f', 'json', '-c', 'properties', 'a')
        printed.seek(0)
        # The output of python-openstackclient 10.5.0 for a Nova 34.
        self.assertEqual({'properties': GOOD}, json.loads(printed.read()))
