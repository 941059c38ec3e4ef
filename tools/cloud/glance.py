# SPDX-License-Identifier: Apache-2.0

"""A client of Glance's API that only stores images."""

from collections.abc import Callable
import pathlib

from keystoneauth1 import adapter
from keystoneauth1.identity import v3
from keystoneauth1 import session

from cloud import settings


class Glance:
    """The images of the cloud, seen by its admin."""

    def __init__(self, cloud: settings.Settings) -> None:
        admin = v3.Password(
            auth_url=cloud.auth_url, username='admin', project_name='admin',
            password=settings.PASSWORD, user_domain_name='Default',
            project_domain_name='Default')
        self._api = adapter.Adapter(session.Session(auth=admin),
                                    service_type='image')
        self._properties = {'visibility': 'public',
                            'hypervisor_type': cloud.kind.virt_type}
        self._stored: dict[str, str] = {
            image['name']: image['id'] for image in
            self._api.get('/v2/images').json()['images']}

    def ensure(self, name: str, build: Callable[[], pathlib.Path],
               disk_format: str, container_format: str,
               **properties: str) -> str:
        """Returns the id of an image; builds and stores a missing image."""
        if name not in self._stored:
            self._stored[name] = self._store(build(), {
                'name': name, 'disk_format': disk_format,
                'container_format': container_format,
                **self._properties, **properties})
        return self._stored[name]

    def _store(self, image: pathlib.Path, properties: dict[str, str]) -> str:
        created = self._api.post('/v2/images', json=properties)
        identifier = str(created.json()['id'])
        with image.open('rb') as content:
            self._api.put(
                f'/v2/images/{identifier}/file', data=content,
                headers={'Content-Type': 'application/octet-stream'})
        return identifier
