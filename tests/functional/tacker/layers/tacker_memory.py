# SPDX-License-Identifier: Apache-2.0

"""Tacker in one process: its controller, conductor, drivers and database.

All code is Tacker's, with these exceptions: a call to the conductor is made at
once, Heat is in memory, user data run in this process instead of another, and
files of packages, which Tacker reads again and again, are parsed only once.
"""

import contextlib
import functools
import io
import pickle
import subprocess
import sys
import types
from unittest import mock
import uuid

from oslo_config import cfg
from oslo_db import options as db_options
from tacker.common import csar_utils
from tacker import context as tacker_context
from tacker.db import api as db_api
from tacker.db.db_sqlalchemy import models
from tacker.db import model_base
from tacker.sol_refactored.api import api_version
from tacker.sol_refactored.common import vnfd_utils
from tacker.sol_refactored.conductor import conductor_v2
from tacker.sol_refactored.controller import vnflcm_v2
from tacker.sol_refactored.infra_drivers.openstack import heat_utils
from tacker.sol_refactored.infra_drivers.openstack import openstack
from tacker.sol_refactored.infra_drivers.openstack import userdata_main
from tacker.sol_refactored.nfvo import local_nfvo
from tacker.sol_refactored import objects
import yaml

_VIM = {'vimId': 'v', 'vimType': 'ETSINFV.OPENSTACK_KEYSTONE.V_3',
        'interfaceInfo': {'endpoint': 'http://127.0.0.1:9/v3'},
        'accessInfo': {'username': 'u', 'password': 'p', 'project': 'p',
                       'userDomain': 'd', 'projectDomain': 'd',
                       'region': 'r'}}


class _Calls:
    """The conductor's queue."""

    def __init__(self):
        self.waiting = []

    def __getattr__(self, name):
        return lambda context, lcmocc_id: self.waiting.append(
            (name, lcmocc_id))


class Tacker:

    def __init__(self, folder):
        self.folder = folder
        self.heat = None
        conf = openstack.CONF
        # Heat has a host, too, so Tacker's definition is read from its own
        # directory.
        conf.register_opt(cfg.BoolOpt('use_credential_encryption',
                                      default=False))
        db_options.set_defaults(conf, connection='sqlite://')
        conf.set_override('vnf_package_csar_path', folder, 'vnf_package')
        conf.set_override('backend_url', f'file://{folder}', 'coordination')
        model_base.BASE.metadata.create_all(db_api.get_engine())
        objects.register_all()
        with mock.patch.object(conductor_v2.ConductorV2, '_periodic_call'):
            self.conductor = conductor_v2.ConductorV2()
        self.controller = vnflcm_v2.VnfLcmControllerV2()
        self.controller.conductor_rpc = self.calls = _Calls()

    def patched(self):
        return (
            mock.patch.object(vnfd_utils, 'yaml', types.SimpleNamespace(
                safe_load=_parsed_again)),
            mock.patch.object(heat_utils.http_client, 'HttpClient',
                              lambda *_, **__: self.heat),
            mock.patch.object(local_nfvo.glance_utils, 'GlanceClient',
                              lambda *_: types.SimpleNamespace(
                                  list_images=lambda **_: [])),
            mock.patch.object(openstack, 'subprocess', types.SimpleNamespace(
                run=_run_userdata, PIPE=subprocess.PIPE)))

    def onboard(self, csar):
        """Returns the id of the descriptor, and of the package."""
        package = str(uuid.uuid4())
        vnfd, _, _ = csar_utils.load_csar_data(None, package, csar)
        context = self._context()
        with context.session.begin():
            context.session.add(models.VnfPackage(
                id=package, onboarding_state='ONBOARDED', size=1,
                operational_state='ENABLED', usage_state='NOT_IN_USE',
                tenant_id='t', algorithm='sha512', hash='0',
                location_glance_store='x'))
            context.session.add(models.VnfPackageVnfd(
                id=str(uuid.uuid4()), package_uuid=package,
                vnfd_id=vnfd['descriptor_id'], vnf_provider='p',
                vnf_product_name='p', vnf_software_version='1',
                vnfd_version='1'))
        return vnfd['descriptor_id']

    def _context(self):
        context = tacker_context.get_admin_context()
        context.api_version = api_version.APIVersion('2.0.0')
        return context

    def _request(self):
        return types.SimpleNamespace(context=self._context())

    def create(self, vnfd):
        answer = self.controller.create(request=self._request(),
                                        body={'vnfdId': vnfd})
        return answer.body['id']

    def operate(self, vnf, operation, body):
        """Returns the occurrence of an operation.

        :raises SolException: the API refuses it
        """
        if operation == 'instantiate':
            body = {**body, 'vimConnectionInfo': {'vim': _VIM}}
        getattr(self.controller, operation)(request=self._request(), id=vnf,
                                            body=body)
        return self._work()

    def afterwards(self, occurrence, action):
        """Does *action* to a failed operation: rollback, retry or fail."""
        getattr(self.controller, f'lcm_op_occ_{action}')(
            request=self._request(), id=occurrence.id)
        return self._work() or self._occurrence(occurrence.id)

    def _work(self):
        while self.calls.waiting:
            name, occurrence = self.calls.waiting.pop()
            getattr(self.conductor, name)(self._context(), occurrence)
            return self._occurrence(occurrence)
        return None

    def _occurrence(self, occurrence):
        return objects.VnfLcmOpOccV2.get_by_id(self._context(), occurrence)

    def instance(self, vnf):
        return objects.VnfInstanceV2.get_by_id(self._context(), vnf)


def _parsed_again(given):
    text = given if isinstance(given, str) else given.read()
    return pickle.loads(_parsed(text))  # noqa: S301


@functools.cache
def _parsed(text):
    return pickle.dumps(yaml.safe_load(text))


class _Input(io.BytesIO):
    @property
    def buffer(self):
        return self


def _run_userdata(arguments, **given):
    """Runs userdata_main.py, which here has no process of its own."""
    out, err = _Input(), io.StringIO()
    path = list(sys.path)
    status = 0
    with (mock.patch.object(sys, 'stdin', _Input(given['input'])),
          mock.patch.object(sys, 'stdout', out),
          contextlib.redirect_stderr(err)):
        try:
            userdata_main.main()
        except SystemExit as error:
            status = 1
            err.write(f'{error}\n')
        except Exception as error:
            status = 1
            err.write(f'{type(error).__name__}: {error}\n')
    sys.path[:] = path
    return types.SimpleNamespace(returncode=status, stdout=out.getvalue(),
                                 stderr=err.getvalue().encode())
