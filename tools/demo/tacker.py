# SPDX-License-Identifier: Apache-2.0

"""A client of Tacker's APIs for the life of a VNF: packages, LCM v2.

The module sends HTTP requests itself, because the command line client uses v1
for packages and does not wait.
"""

import time
from typing import Any
import urllib.parse

from keystoneauth1 import adapter
from keystoneauth1.identity import v3
from keystoneauth1 import session

from cloud import settings

PACKAGES = '/vnfpkgm/v1/vnf_packages'
INSTANCES = '/vnflcm/v2/vnf_instances'
CONFLICT = 409
_ENDED = ('COMPLETED', 'FAILED', 'FAILED_TEMP', 'ROLLED_BACK')
_INTERVAL = 0.5


class Refused(Exception):
    """Tacker refused a request, or failed; the text is Tacker's."""


class Tacker:
    """The VNFs of the cloud, as its admin sees them."""

    def __init__(self, cloud: settings.Settings, patience: float) -> None:
        self._cloud = cloud
        self._patience = patience
        admin = v3.Password(
            auth_url=cloud.auth_url, username='admin', project_name='admin',
            password=settings.PASSWORD, user_domain_name='Default',
            project_domain_name='Default')
        self._api = adapter.Adapter(
            session.Session(auth=admin), service_type='nfv-orchestration',
            additional_headers={'Version': '2.0.0',
                                'Accept': 'application/json'},
            raise_exc=False)

    def onboard(self, package: bytes) -> dict[str, Any]:
        """Uploads a CSAR; returns the package with its ``vnfdId``."""
        created = self._ask('POST', PACKAGES, json={'userDefinedData': {}})
        path = f'{PACKAGES}/{created["id"]}'
        self._ask('PUT', f'{path}/package_content', data=package,
                  headers={'Content-Type': 'application/zip'})
        # A bad package goes back to the state CREATED.
        return self._until(path, 'onboardingState', ('ONBOARDED', 'CREATED'))

    def remove_package(self, package: str) -> None:
        """Disables and removes a package."""
        self._ask('PATCH', f'{PACKAGES}/{package}',
                  json={'operationalState': 'DISABLED'})
        self._ask('DELETE', f'{PACKAGES}/{package}')

    def create(self, vnfd: str, name: str) -> str:
        """Creates a VNF that is not instantiated yet; returns its id."""
        return str(self._ask('POST', INSTANCES, json={
            'vnfdId': vnfd, 'vnfInstanceName': name})['id'])

    def delete(self, vnf: str) -> None:
        """Deletes a VNF; waits until Tacker no longer locks the VNF."""
        deadline = time.monotonic() + self._patience
        while True:
            answer = self._api.request(f'{INSTANCES}/{vnf}', 'DELETE')
            if answer.ok:
                return
            if answer.status_code != CONFLICT or time.monotonic() > deadline:
                raise Refused(answer.text)
            time.sleep(_INTERVAL)

    def show(self, vnf: str) -> dict[str, Any]:
        """Returns a VNF as Tacker shows it."""
        return self._ask('GET', f'{INSTANCES}/{vnf}')

    def servers(self, vnf: str) -> list[str]:
        """Returns the ids of its servers in Nova."""
        entries = self.show(vnf)['instantiatedVnfInfo']['vnfcResourceInfo']
        return [entry['computeResource']['resourceId'] for entry in entries]

    def instantiate(self, vnf: str, request: dict[str, Any]) -> None:
        """Instantiates a VNF.

        :raises Refused: when the operation fails
        """
        self._operate(vnf, 'instantiate', {
            **request, 'vimConnectionInfo': {'vim1': self.vim()}})

    def operate(self, vnf: str, operation: str, request: dict[str, Any]
                ) -> None:
        """Runs ``scale``, ``heal`` or ``terminate``, and waits for the end.

        :raises Refused: when the operation fails
        """
        self._operate(vnf, operation, request)

    def _operate(self, vnf: str, operation: str, request: dict[str, Any]
                 ) -> None:
        answer = self._send('POST', f'{INSTANCES}/{vnf}/{operation}',
                            json=request)
        path = urllib.parse.urlsplit(answer.headers['Location']).path
        ended = self._until(path, 'operationState', _ENDED)
        if ended['operationState'] == 'FAILED_TEMP':
            # Without this the VNF could be neither terminated nor deleted.
            self._send('POST', f'{path}/fail')
        if ended['operationState'] != 'COMPLETED':
            raise Refused(f'{operation}: {ended["operationState"]}: '
                          f'{ended.get("error", {}).get("detail")}')

    def _until(self, path: str, key: str, wanted: tuple[str, ...]
               ) -> dict[str, Any]:
        deadline = time.monotonic() + self._patience
        while True:
            time.sleep(_INTERVAL)
            answer = self._ask('GET', path)
            if answer[key] in wanted:
                return answer
            if time.monotonic() > deadline:
                raise Refused(f'{path} is still {answer[key]}')

    def _ask(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        answer = self._send(method, path, **more)
        return dict(answer.json()) if answer.content else {}

    def _send(self, method: str, path: str, **more: Any) -> Any:
        answer = self._api.request(path, method, **more)
        if not answer.ok:
            raise Refused(f'{method} {path}: {answer.status_code}: '
                          f'{answer.text}')
        return answer

    def vim(self) -> dict[str, Any]:
        """Returns the VIM for a request: this cloud."""
        return {
            'vimId': '11111111-1111-1111-1111-111111111111',
            'vimType': 'ETSINFV.OPENSTACK_KEYSTONE.V_3',
            'interfaceInfo': {'endpoint': self._cloud.auth_url},
            'accessInfo': {
                'username': 'admin', 'password': settings.PASSWORD,
                'region': settings.REGION, 'project': 'admin',
                'projectDomain': 'Default', 'userDomain': 'Default'}}
