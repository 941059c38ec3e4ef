# SPDX-License-Identifier: Apache-2.0

"""Chromium opens the page of ``openstack rt map`` for a large cloud.

Needs the packages chromium and chromium-driver of Debian.
"""

import pathlib
from typing import ClassVar
import unittest

import fixtures
import testtools

from benchmarks import browser as rt_browser
from benchmarks import map_page

HOSTS, PCPUS = 1000, 64
#: The first pCPU of the fourth host, whose nova-compute is down.
_CELL = 210 + 9, 3 * 22 + 11


@unittest.skipUnless(rt_browser.DRIVER, 'chromedriver is not installed')
class MapTest(testtools.TestCase):

    page: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.page = map_page.made_up(HOSTS, PCPUS)

    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        path = pathlib.Path(folder) / 'map.html'
        path.write_text(self.page)
        context = rt_browser.browser()
        self.browser = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        self.browser.open(path)

    def text(self, name: str) -> str:
        return str(self.browser.run(
            f"return document.getElementById('{name}').textContent"))

    def search(self, words: str) -> list[str]:
        """Returns how many hosts, pCPUs and servers match."""
        self.browser.run(
            "const field = document.getElementById('search');"
            f"field.value = '{words}';"
            "field.dispatchEvent(new Event('input'))")
        return self.text('count').split('; ')[0].split(', ')

    def pixel(self, x: int, y: int) -> list[int]:
        """Returns red, green and blue at a place of the map."""
        found: list[int] = self.browser.run(
            "return document.getElementById('map').getContext('2d')"
            f".getImageData({x}, {y}, 1, 1).data")
        return found[:3]

    def test_it_is_below_5_mb(self) -> None:
        self.assertLess(len(self.page.encode()), map_page.LIMIT_MB * 1e6)

    def test_it_shows_all_without_an_error(self) -> None:
        self.assertEqual(['1000 hosts', '64000 pCPUs'], self.search('')[:2])
        self.assertEqual([], self.browser.errors())

    def test_search(self) -> None:
        hosts, pcpus, _servers = self.search('compute-999')
        self.assertEqual(('1 hosts', '64 pCPUs'), (hosts, pcpus))
        self.assertEqual('0 hosts', self.search('no such name')[0])
        self.browser.run("document.getElementById('wrong').click()")
        self.assertEqual('20 hosts', self.search('')[0])

    def test_a_cell_tells_its_servers(self) -> None:
        top = self.browser.run(
            "return document.getElementById('space').offsetTop")
        self.browser.point(_CELL[0], int(top) + _CELL[1])
        self.assertRegex(self.text('tip'),
                         r'^compute-003, pCPU 0: 0\.\d{3} of 0\.950 reserved')
        self.browser.point(20, int(top) + _CELL[1])
        self.assertEqual('compute-003\nnova-compute does not answer',
                         self.text('tip'))

    def test_light_and_dark(self) -> None:
        found = []
        for scheme in ('light', 'dark'):
            self.browser.set_colours(scheme)
            found.append((self.browser.run(
                'return getComputedStyle(document.body).backgroundColor'),
                self.pixel(210 + 1, 4 * 22 + 3)))
        (light, cell), (dark, dark_cell) = found
        self.assertEqual(('rgb(255, 255, 255)', 'rgb(20, 23, 28)'),
                         (light, dark))
        self.assertNotEqual(cell, dark_cell)
        shown = self.browser.screenshot()
        self.browser.set_colours('light')
        self.assertNotEqual(shown, self.browser.screenshot())
