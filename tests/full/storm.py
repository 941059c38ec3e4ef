# SPDX-License-Identifier: Apache-2.0

"""A storm: many servers are created and deleted at once, on both nodes."""

from collections.abc import Callable, Mapping
from concurrent import futures
import dataclasses
import threading
import time
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions
from keystoneauth1.identity import v3
from keystoneauth1 import session

from cloud import settings

IMAGES = {'lxc': 'lxc-busybox', 'qemu': 'qemu-idle'}
# There are eight loop devices, one for each container.
AT_ONCE = {'lxc': 4, 'qemu': 3}
RAM_MIB = 96
PATIENCE = 120
_INTERVAL = 0.25
# How long a client waits after a refusal because a service is down.
_PAUSE = 1.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The number of servers that ran and were deleted, and the time."""

    ran: int
    failed: tuple[str, ...]
    seconds: float

    @property
    def rate(self) -> float:
        """Servers per second."""
        return self.ran / self.seconds


class Nova:
    """The compute API by plain requests, cheap and safe in threads."""

    def __init__(self, cloud: settings.Settings) -> None:
        admin = v3.Password(
            auth_url=cloud.auth_url, username='admin', project_name='admin',
            password=settings.PASSWORD, user_domain_name='Default',
            project_domain_name='Default')
        both = session.Session(auth=admin)
        self._compute = adapter.Adapter(
            both, service_type='compute', default_microversion='2.96')
        self._placement = adapter.Adapter(
            both, service_type='placement', default_microversion='1.39')
        images = adapter.Adapter(both, service_type='image').get('/v2/images')
        self._images = {image['name']: image['id']
                        for image in images.json()['images']}

    def flavor(self, name: str, specs: Mapping[str, str]) -> str:
        made = self._compute.post('/flavors', json={'flavor': {
            'name': name, 'ram': RAM_MIB, 'vcpus': 1, 'disk': 0}}).json()
        flavor = str(made['flavor']['id'])
        if specs:
            self._compute.post(f'/flavors/{flavor}/os-extra_specs',
                               json={'extra_specs': dict(specs)})
        return flavor

    def delete_flavor(self, flavor: str) -> None:
        self._compute.delete(f'/flavors/{flavor}')

    def create(self, name: str, flavor: str, image: str) -> str:
        made = self._compute.post('/servers', json={'server': {
            'name': name, 'flavorRef': flavor, 'networks': 'none',
            'imageRef': self._images[image]}}).json()
        return str(made['server']['id'])

    def ready(self) -> bool:
        """Returns whether all its services are up, and all hosts take servers.

        After nova-compute loses libvirt, it takes no servers until it next
        needs libvirt, which is in its next audit.
        """
        services = self._compute.get('/os-services').json()['services']
        closed = self._placement.get(
            '/resource_providers?required=COMPUTE_STATUS_DISABLED').json()
        return not closed['resource_providers'] and all(
            (service['state'], service['status']) == ('up', 'enabled')
            for service in services)

    def show(self, server: str) -> dict[str, Any] | None:
        try:
            return dict(self._compute.get(
                f'/servers/{server}').json()['server'])
        except exceptions.NotFound:
            return None

    def servers(self) -> list[str]:
        return [str(server['id']) for server in
                self._compute.get('/servers').json()['servers']]

    def delete(self, server: str) -> str:
        try:
            self._compute.delete(f'/servers/{server}')
        except exceptions.NotFound:
            return 'it is gone'
        return ''

    def reset(self, server: str) -> None:
        """Resets a server that hangs, as an operator would."""
        try:
            self._compute.post(f'/servers/{server}/action',
                               json={'os-resetState': {'state': 'error'}})
        except exceptions.NotFound:
            return

    def state(self, server: str) -> str | None:
        """Returns '' once it runs, None before, else what is wrong."""
        found = self.show(server)
        if found is None:
            return 'it is gone'
        if found['status'] == 'ERROR':
            return str(found.get('fault', {}).get('message'))
        return '' if found['status'] == 'ACTIVE' else None

    def gone(self, server: str) -> str | None:
        return '' if self.show(server) is None else None


def until(look: Callable[[], str | None], patience: float) -> str | None:
    """Polls until there is an answer, even while services are down."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            if (found := look()) is not None:
                return found
        except (exceptions.ConnectFailure, exceptions.HttpServerError):
            time.sleep(_PAUSE)
        time.sleep(_INTERVAL)
    return None


class Storm:
    """Some workers for each node; each creates a server and deletes it."""

    def __init__(self, nova: Nova, flavors: Mapping[str, str],
                 patience: float = PATIENCE) -> None:
        """:param flavors: the flavor's id by kind of guests

        :param patience: seconds for a server to come, and to go
        """
        self._nova = nova
        self._flavors = flavors
        self._patience = patience
        self._left = dict.fromkeys(flavors, 0)
        self._lock = threading.Lock()
        self._found: list[str] = []

    @property
    def done(self) -> int:
        """The servers that have come and gone, or failed to."""
        return len(self._found)

    def run(self, count: int) -> Outcome:
        """Creates and deletes *count* servers, as many on each node."""
        self._left = dict.fromkeys(self._flavors, count // len(self._flavors))
        self._found = []
        started = time.monotonic()
        with futures.ThreadPoolExecutor(sum(AT_ONCE.values())) as pool:
            working = [pool.submit(self._work, guest)
                       for guest in self._flavors
                       for _ in range(AT_ONCE[guest])]
            for worker in working:
                worker.result()
        failed = tuple(text for text in self._found if text)
        return Outcome(len(self._found) - len(failed), failed,
                       time.monotonic() - started)

    def _take(self, guest: str) -> bool:
        with self._lock:
            self._left[guest] -= 1
            return self._left[guest] >= 0

    def _work(self, guest: str) -> None:
        """Notes what went wrong with each server; '' for nothing."""
        while self._take(guest):
            try:
                trouble = self._one(guest)
            except exceptions.ClientException as error:
                trouble = str(error)
                time.sleep(_PAUSE)
            with self._lock:
                self._found.append(trouble)

    def _one(self, guest: str) -> str:
        server = self._nova.create(f'storm-{guest}', self._flavors[guest],
                                   IMAGES[guest])
        trouble = until(lambda: self._nova.state(server), self._patience)
        if trouble is None:
            trouble = 'it is still being built'
        until(lambda: self._nova.delete(server), self._patience)
        if until(lambda: self._nova.gone(server), self._patience) is None:
            trouble = trouble or 'it does not go away'
        return trouble and f'{server}: {trouble}'
