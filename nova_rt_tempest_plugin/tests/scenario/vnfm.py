# SPDX-License-Identifier: Apache-2.0

"""A client of Tacker's APIs for the life of a VNF: packages, LCM v2."""

from collections.abc import Callable
import http
import json
from typing import Any
import urllib.parse

from tempest.lib.common import rest_client
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions

PACKAGES = 'vnfpkgm/v1/vnf_packages'
INSTANCES = 'vnflcm/v2/vnf_instances'

_ENDED = ('COMPLETED', 'FAILED', 'FAILED_TEMP', 'ROLLED_BACK')

Body = dict[str, Any]


class VnfmClient(rest_client.RestClient):
    """A client that waits for long operations.

    The client raises the exceptions of ``tempest.lib``. The client also raises
    TimeoutException if an operation ends in a wrong state.
    """

    def get_headers(self, *args: Any, **kwargs: Any) -> dict[str, str]:
        return {**super().get_headers(*args, **kwargs), 'Version': '2.0.0'}

    def onboard(self, package: bytes) -> Body:
        """Uploads a CSAR; returns the package with its ``vnfdId``."""
        _, answer = self.post(PACKAGES, json.dumps({'userDefinedData': {}}))
        path = f'{PACKAGES}/{json.loads(answer)["id"]}'
        self.put(f'{path}/package_content', package,
                 headers=self.get_headers(send_type='zip'))
        return self._until(path, lambda shown: bool(
            shown['onboardingState'] == 'ONBOARDED'))

    def remove_package(self, package: str) -> None:
        """Disables and removes a package."""
        path = f'{PACKAGES}/{package}'
        self.patch(path, json.dumps({'operationalState': 'DISABLED'}))
        self.delete(path)

    def create(self, vnfd: str, name: str) -> str:
        """Creates a VNF that is not instantiated yet; returns its id."""
        _, answer = self.post(INSTANCES, json.dumps(
            {'vnfdId': vnfd, 'vnfInstanceName': name}))
        return str(json.loads(answer)['id'])

    def remove(self, vnf: str) -> None:
        """Removes a VNF; waits until Tacker no longer locks the VNF."""
        def removed() -> bool:
            try:
                self.delete(f'{INSTANCES}/{vnf}')
            except exceptions.RestClientException as error:
                if error.resp.status != http.HTTPStatus.CONFLICT:
                    raise
                return False
            return True

        self._wait(f'VNF {vnf} to be removed', removed)

    def servers(self, vnf: str) -> list[str]:
        """Returns the ids of its servers in Nova."""
        shown = self._show(f'{INSTANCES}/{vnf}')
        return [each['computeResource']['resourceId'] for each
                in shown['instantiatedVnfInfo']['vnfcResourceInfo']]

    def operate(self, vnf: str, operation: str, request: Body) -> None:
        """Runs ``instantiate`` or ``terminate``."""
        answer, _ = self.post(f'{INSTANCES}/{vnf}/{operation}',
                              json.dumps(request))
        path = urllib.parse.urlsplit(answer['location']).path.lstrip('/')
        ended = self._until(
            path, lambda shown: shown['operationState'] in _ENDED)
        if ended['operationState'] == 'FAILED_TEMP':
            # Without this the VNF could be neither terminated nor removed.
            self.post(f'{path}/fail', '{}')
        if ended['operationState'] != 'COMPLETED':
            raise exceptions.TimeoutException(
                f'{operation}: {ended["operationState"]}: '
                f'{ended.get("error")}')

    def _show(self, path: str) -> Body:
        _, answer = self.get(path)
        return dict(json.loads(answer))

    def _until(self, path: str, ready: Callable[[Body], bool]) -> Body:
        self._wait(path, lambda: ready(self._show(path)))
        return self._show(path)

    def _wait(self, event: str, ready: Callable[[], bool]) -> None:
        if not test_utils.call_until_true(
                ready, self.build_timeout, self.build_interval):
            raise exceptions.TimeoutException(f'Timed out waiting for {event}')
