# SPDX-License-Identifier: Apache-2.0

"""demo.host: the state of a host in Nova's databases."""

import contextlib
import pathlib
import sqlite3
import tempfile
import unittest

from cloud import settings
from demo import host


class BuildingTest(unittest.TestCase):
    """Tests whether a server is being built."""

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.cloud = settings.Settings(
            pathlib.Path(directory.name), 15000, True, 'lxc')
        self.cloud.data.mkdir()
        self.change('nova_api', 'create table build_requests (id int)')
        self.change('nova_cell1',
                    'create table instances (deleted int, vm_state text)')

    def change(self, name: str, *statements: str) -> None:
        path = self.cloud.data / f'{name}.db'
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            for statement in statements:
                database.execute(statement)

    def test_none(self):
        self.change('nova_cell1',
                    "insert into instances values (0, 'active')",
                    "insert into instances values (0, 'error')",
                    "insert into instances values (7, 'building')")
        self.assertFalse(host.building(self.cloud))

    def test_it_waits_for_a_host(self):
        self.change('nova_api', 'insert into build_requests values (1)')
        self.assertTrue(host.building(self.cloud))

    def test_it_is_being_built(self):
        self.change('nova_cell1',
                    "insert into instances values (0, 'building')")
        self.assertTrue(host.building(self.cloud))
