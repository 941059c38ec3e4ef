# SPDX-License-Identifier: Apache-2.0

"""Measures how large ``openstack rt map`` is, and how fast Chromium opens it.

usage: .venv/bin/python -m benchmarks.map_page [hosts [pCPUs [FOLDER]]]
       (default 1000 64)

The cloud is made up: random servers of 1, 2 or 4 vCPUs fill each host up to a
random share of its cap.  A page with no data is opened first, so that the
start of Chromium does not count.  The time goes from the request for the page
to the first frame after the event "load", and is the median of ROUNDS (default
7).  With a folder, writes map-light.png and map-dark.png there.  Needs
the packages chromium and chromium-driver of Debian; exits with 1 above 5 MB or
2 s.
"""

from collections.abc import Iterator
import datetime
import os
import pathlib
import random
import statistics
import sys
import tempfile
import uuid

from benchmarks import browser as rt_browser
from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from rt_client import cloud
from rt_client import page

LIMIT_MB, LIMIT_S, CAP = 5, 2, 950_000
ROUNDS = int(os.environ.get('ROUNDS', '7'))
_NOW = datetime.datetime(2026, 11, 24, tzinfo=datetime.UTC)
_PERIODS = (10_000, 50_000, 100_000, 200_000)
_SHOWN_MS = '''
const [done] = arguments;
requestAnimationFrame(() => requestAnimationFrame(
  () => done(performance.now())));
'''


def made_up(hosts: int, pcpus: int, seed: int = 1) -> str:
    """Returns the page of a made-up cloud.

    The nova-compute of every fiftieth host, from the fourth on, is down.
    """
    draw = random.Random(seed)  # noqa: S311
    all_hosts: list[cloud.Host] = []
    servers: list[cloud.Server] = []
    for number in range(hosts):
        host, own = _host(f'compute-{number:03d}', pcpus, draw)
        all_hosts.append(host)
        servers += own
    services = {host.name: ('down' if number % 50 == 3 else 'up', 'enabled')
                for number, host in enumerate(all_hosts)}
    return page.render(all_hosts, servers, services, _NOW)


def _host(name: str, pcpus: int, draw: random.Random
          ) -> tuple[cloud.Host, list[cloud.Server]]:
    provider = str(_uuid(draw))
    state = cpus.CpuBandwidth.empty(range(pcpus), CAP)
    servers = []
    goal = draw.uniform(0.1, 0.95) * pcpus * CAP
    for wanted, vcpus in _wishes(draw):
        if not cpus.fits(state, vcpus, wanted):
            break
        places = draw.sample([cpu for cpu in state.cpus if state.free(cpu)
                              >= wanted.bandwidth], vcpus)
        state = state.claim(places, wanted)
        servers.append(cloud.Server(
            str(_uuid(draw)), f'vnf-{draw.randrange(10**5):05d}',
            _uuid(draw, 200).hex, vcpus, 'active', wanted, name,
            (cloud.Claim(provider, tuple(places), wanted),)))
        if state.total_used > goal:
            break
    return cloud.Host(name, name, provider,
                      hostmap.HostMap(state, 'worst_fit')), servers


def _wishes(draw: random.Random
            ) -> Iterator[tuple[reservation.Reservation, int]]:
    while True:
        period_us = draw.choice(_PERIODS)
        yield reservation.Reservation(
            period_us * draw.choice((5, 10, 20, 25, 40, 50)) // 100,
            period_us), draw.choice((1, 2, 4))


def _uuid(draw: random.Random, different: int = 0) -> uuid.UUID:
    """Returns a random uuid.

    :param different: how many there are to draw from; 0 for any
    """
    if different:
        draw = random.Random(draw.randrange(different))  # noqa: S311
    return uuid.UUID(int=draw.getrandbits(128), version=4)


def measure_s(browser: rt_browser.Browser, path: pathlib.Path) -> float:
    """Returns the seconds until Chromium shows a page."""
    times: list[float] = []
    for _ in range(ROUNDS):
        browser.open(path)
        times.append(browser.wait_for(_SHOWN_MS))
    return statistics.median(times) / 1e3


def take_pictures(browser: rt_browser.Browser, path: pathlib.Path,
                  folder: pathlib.Path) -> None:
    """Writes a picture of the page in each colour scheme."""
    browser.resize(830, 480)
    browser.open(path)
    for scheme in ('light', 'dark'):
        browser.set_colours(scheme)
        (folder / f'map-{scheme}.png').write_bytes(browser.screenshot())


def main(hosts: str = '1000', pcpus: str = '64', folder: str = '') -> int:
    """Measures and prints; returns 1 above a limit."""
    with tempfile.TemporaryDirectory() as scratch, (
            rt_browser.browser()) as browser:
        path = pathlib.Path(scratch) / 'map.html'
        path.write_text(made_up(0, 0))
        measure_s(browser, path)
        path.write_text(made_up(int(hosts), int(pcpus)))
        size_mb = path.stat().st_size / 1e6
        shown_s = measure_s(browser, path)
        print(browser.run("return document.getElementById('count')"
                          ".textContent"))
        print(f'{size_mb:.2f} MB (goal {LIMIT_MB}), '
              f'shown after {shown_s:.2f} s (goal {LIMIT_S})')
        if folder:
            take_pictures(browser, path, pathlib.Path(folder))
    return int(size_mb > LIMIT_MB or shown_s > LIMIT_S)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
