# SPDX-License-Identifier: Apache-2.0

"""Servers of several tenants on one pCPU, and what each of them gets.

Two are victims: one is always busy, one has response times.  One is hostile,
with a reservation of its own, and one has none.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import functools
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from typing import Any

from cloud import glance
from cloud import lxc_images
from cloud import sdk
from cloud import settings
from demo import host
from demo import measure

PATIENCE = 60
PROGRAM = 'tenant'
_SOURCES = pathlib.Path(__file__).parent / PROGRAM
_COMPILE = ('gcc', '-std=c17', '-D_GNU_SOURCE', '-O2', '-Wall', '-Wextra',
            '-Wconversion', '-Werror', '-static')
#: us.  With many short requests, a disturbance hits only a few of them.
_WORK, _EVERY = 1_000, 10_000
_LINES = {'probe': f'::respawn:/bin/{PROGRAM} probe {_WORK} {_EVERY}\n',
          'obeys': f'::respawn:/bin/{PROGRAM} obey\n'}
#: The file of the probe: a count, then response times in ns.
_RING = 2048


@dataclasses.dataclass(frozen=True)
class Kind:
    """The order of a tenant.

    :ivar reservation: runtime and period in us
    """

    image: str
    ram: int
    reservation: tuple[int, int] | None


#: The shorter the period, the higher the priority.
KINDS = {
    'probe': Kind('probe', 64, (4_000, 20_000)),
    'busy': Kind('lxc-busy', 64, (30_000, 100_000)),
    'hostile': Kind('obeys', 256, (50_000, 200_000)),
    'unreserved': Kind('obeys', 256, None)}
VICTIMS = ('probe', 'busy')


@dataclasses.dataclass(frozen=True)
class Window:
    """The shares and response times while all tenants did their work.

    :ivar shares: the shares of the pCPU that the tenants with a reservation
        got
    :ivar responses: the response times of the probe, in us
    """

    shares: dict[str, float]
    responses: Sequence[float]


def store_images(cloud: settings.Settings) -> None:
    """Stores the images with the present program."""
    images = glance.Glance(cloud)
    with tempfile.TemporaryDirectory(dir=cloud.run) as scratch:
        directory = pathlib.Path(scratch)
        program = directory / PROGRAM
        subprocess.run([*_COMPILE, '-o', program, *_SOURCES.glob('*.c')],
                       check=True)
        for name, line in _LINES.items():
            lxc_images.ensure(
                images, name, line,
                pathlib.Path(shutil.which('busybox') or 'busybox'),
                directory, program)


def start(cloud: settings.Settings) -> dict[str, 'Tenant']:
    """Returns a server for each of KINDS, by name, once all servers run."""
    store_images(cloud)
    compute = sdk.connect(cloud, compute_api_version='2.96')
    for server in [_create(compute, name, kind)
                   for name, kind in KINDS.items()]:
        compute.compute.wait_for_server(server, wait=PATIENCE, interval=0.1)
    return {found.name: Tenant(found) for found in host.servers(cloud)}


def _create(cloud: Any, name: str, kind: Kind) -> Any:
    flavor = cloud.compute.create_flavor(
        name=name, ram=kind.ram, vcpus=1, disk=0)
    if kind.reservation:
        cloud.compute.create_flavor_extra_specs(flavor, dict(zip(
            ('hw:cpu.rt_runtime_us', 'hw:cpu.rt_period_us'),
            map(str, kind.reservation), strict=True)))
    return cloud.compute.create_server(
        name=name, flavor_id=flavor.id, networks='none',
        image_id=cloud.image.find_image(kind.image).id)


class Tenant:
    """A container as its host sees it, whatever groups its tasks are in."""

    def __init__(self, server: host.Server) -> None:
        self.server = server
        keeper = int(server.group.split('-')[1])
        self._init = eventually('its init', lambda: next((
            pid for pid in _children(keeper)
            if _namespace(pid) != _namespace(keeper)), 0))

    @property
    def is_mapped(self) -> bool:
        """Checks for a user namespace; without one, attacks reach the host."""
        return os.readlink(f'/proc/{self._init}/ns/user') != os.readlink(
            '/proc/self/ns/user')

    @property
    def processes(self) -> list[int]:
        """All processes of the container, by the ids of the host."""
        own = _namespace(self._init)
        return [pid for pid in map(int, filter(
            str.isdecimal, os.listdir('/proc'))) if _namespace(pid) == own]

    @property
    def program(self) -> int:
        """The process that its init runs."""
        return eventually('its program', lambda: next(
            _children(self._init), 0))

    @functools.cached_property
    def devices(self) -> pathlib.Path:
        """The directory that tests and programs share."""
        return pathlib.Path(f'/proc/{self._init}/root/dev')

    def obey(self, *words: object) -> list[str]:
        """Begins an attack; returns what it reports of its attempts."""
        said = self.devices / 'said'
        said.unlink(missing_ok=True)
        (self.devices / 'orders').write_text(
            ' '.join(map(str, words)) + '\n')
        lines = eventually('it has begun', lambda: _begun(said))
        return [line for line in lines if line != 'begun']

    def calm(self) -> None:
        """Ends all processes but init and the program that init runs."""
        kept = {self._init, self.program}
        eventually('all have ended', lambda: not [
            _kill(pid) for pid in set(self.processes) - kept])


def _begun(said: pathlib.Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        lines = said.read_text().splitlines()
        return lines if 'begun' in lines else []
    return []


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _namespace(pid: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f'/proc/{pid}/ns/pid')
    return ''


def _children(pid: int) -> Iterator[int]:
    """Yields the children of a process; none if the process has ended."""
    with contextlib.suppress(OSError):
        text = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text()
        yield from map(int, text.split())


def eventually(what: str, look: Callable[[], Any]) -> Any:
    """Polls until *look* returns something; returns that.

    :raises TimeoutError: when *look* never returns anything
    """
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f'never: {what}')
        time.sleep(0.05)
    return found


class Company:
    """Returns the tenants that share the pCPU."""

    def __init__(self, tenants: dict[str, Tenant]) -> None:
        self.tenants = tenants
        self._reserved = [each.server for each in tenants.values()
                          if each.server.claim]
        self._probed = tenants['probe'].devices / 'probed'

    def window(self, seconds: float) -> Window:
        """Returns what is measured in this time."""
        count, _ = self._read()
        shares = measure.shares(self._reserved, seconds)
        end, ring = self._read()
        return Window(shares, [ring[number % _RING] / 1000
                               for number in range(count, end)])

    def _read(self) -> tuple[int, Sequence[int]]:
        values = struct.unpack(f'={_RING + 1}q', self._probed.read_bytes())
        return values[0], values[1:]
