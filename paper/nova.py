# SPDX-License-Identifier: Apache-2.0

"""Runs rt-walk in containers of Nova, in the embedded cloud.

The containers have no network of their own: they use that of the host.
"""

from collections.abc import Iterator
import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

import openstack

from nova_rt.rules import reservation as rt_reservation
from paper import rtwalk

_PROJECT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(_PROJECT / 'tools'))

from cloud import glance  # noqa: E402
from cloud import lxc_images  # noqa: E402
from cloud import sdk  # noqa: E402
from cloud import settings  # noqa: E402

_PATIENCE_S = 60
_NAME = 'rt-walk'
#: The image that keeps all its vCPUs busy.
_NOISY = 'lxc-busy'


class NotStarted(rtwalk.NotReady):
    """Nova found no room for a container to be measured."""

    msg_fmt = ('Container %(name)s does not start: %(reason)s  Delete other '
               'servers with a reservation, then run the command again.')


class Cloud:
    """A running cloud.

    :ivar endpoint: where the server listens while it runs
    """

    def __init__(self) -> None:
        self._settings = settings.load()
        self.endpoint = rtwalk.Endpoint()
        self._cloud = sdk.connect(self._settings)

    def store_image(self) -> None:
        """Stores an image with the present program."""
        line = (f'::respawn:/bin/{rtwalk.PROGRAM.name} server '
                f'{self.endpoint.address} {self.endpoint.port}\n')
        with tempfile.TemporaryDirectory(dir=self._settings.run) as scratch:
            lxc_images.ensure(
                glance.Glance(self._settings), _NAME, line,
                pathlib.Path(shutil.which('busybox') or 'busybox'),
                pathlib.Path(scratch), rtwalk.PROGRAM)

    @contextlib.contextmanager
    def server(self, reservation: rt_reservation.Reservation | None
               ) -> Iterator[None]:
        """Runs rt-walk in a container, with a flavor's reservation or none."""
        with self._container(_NAME, _NAME, reservation):
            self._wait()
            yield

    @contextlib.contextmanager
    def noise(self, neighbours: int = 4) -> Iterator[None]:
        """Runs containers without a reservation that are always busy."""
        with contextlib.ExitStack() as stack:
            for number in range(neighbours):
                stack.enter_context(self._container(
                    f'noise-{number}', _NOISY, None))
            yield

    @contextlib.contextmanager
    def _container(self, name: str, image: str,
                   reservation: rt_reservation.Reservation | None
                   ) -> Iterator[None]:
        compute = self._cloud.compute
        flavor = compute.create_flavor(name=name, ram=64, vcpus=1, disk=0)
        try:
            if reservation:
                compute.create_flavor_extra_specs(flavor, {
                    'hw:cpu.rt_runtime_us': str(reservation.runtime_us),
                    'hw:cpu.rt_period_us': str(reservation.period_us)})
            server = compute.create_server(
                name=name, flavor_id=flavor.id, networks='none',
                image_id=self._cloud.image.find_image(
                    image, ignore_missing=False).id)
            try:
                self._started(server)
                yield
            finally:
                compute.delete_server(server)
                compute.wait_for_delete(server, wait=_PATIENCE_S)
        finally:
            compute.delete_flavor(flavor)

    def _started(self, server: Any) -> None:
        """Waits for the start.

        :raises NotStarted: when Nova cannot start it; Nova says why
        """
        compute = self._cloud.compute
        try:
            compute.wait_for_server(server, wait=_PATIENCE_S)
        except openstack.exceptions.SDKException as error:
            fault = compute.get_server(server).fault or {}
            raise NotStarted(name=server.name, reason=fault.get(
                'message', error)) from error

    def _wait(self) -> None:
        """Waits for an answer.

        :raises NotReady: when rt-walk does not answer
        """
        end = time.monotonic() + _PATIENCE_S
        where = self.endpoint.address, self.endpoint.port
        while time.monotonic() < end:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(where).close()
                return
            time.sleep(0.1)
        raise rtwalk.NotReady(name='rt-walk in a container')


@contextlib.contextmanager
def up() -> Iterator[Cloud]:
    """Yields a running cloud; takes it down if it was not up before."""
    script = _PROJECT / 'tools' / 'cloud.sh'
    was_up = settings.load().is_saved
    try:
        subprocess.run([script, 'up'], check=True, stdout=subprocess.DEVNULL)
        cloud = Cloud()
        cloud.store_image()
        yield cloud
    finally:
        if not was_up:
            subprocess.run([script, 'down'], check=True,
                           stdout=subprocess.DEVNULL)
