# SPDX-License-Identifier: Apache-2.0

"""cloud.kept: which databases a cloud copies, and which it makes."""

import contextlib
import dataclasses
import pathlib
import shutil
import sqlite3
import tempfile
import unittest
from unittest import mock

from cloud import kept
from cloud import settings


class KeptTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.scratch = pathlib.Path(directory.name)
        patch = mock.patch.object(kept, 'root', lambda: self.scratch / 'kept')
        patch.start()
        self.addCleanup(patch.stop)
        self.cloud = self.another()

    def another(self, name: str = 'cloud', **more) -> settings.Settings:
        """A cloud with nothing in its directory."""
        cloud = settings.Settings(self.scratch / name, 15000, True, **more)
        shutil.rmtree(cloud.directory, ignore_errors=True)
        cloud.data.mkdir(parents=True)
        return cloud

    @contextlib.contextmanager
    def service(self):
        """A service that has its database open, as real ones do."""
        with contextlib.closing(sqlite3.connect(
                self.cloud.data / 'glance.db')) as connection:
            connection.execute('PRAGMA journal_mode = WAL')
            connection.execute('CREATE TABLE made (row)')
            connection.execute("INSERT INTO made VALUES ('first')")
            connection.commit()
            yield connection

    def rows(self, cloud: settings.Settings) -> list[str]:
        with contextlib.closing(sqlite3.connect(
                cloud.data / 'glance.db')) as connection:
            return [row for row, in connection.execute(
                'SELECT row FROM made')]

    def test_next_cloud_has_a_copy(self):
        self.assertFalse(kept.restore(self.cloud, 'glance'))
        with self.service():
            kept.keep(self.cloud, 'glance')
        self.assertTrue(kept.restore(self.another(), 'glance'))
        self.assertEqual(['first'], self.rows(self.cloud))

    def test_later_rows_are_not_kept(self):
        with self.service() as connection:
            kept.keep(self.cloud, 'glance')
            connection.execute("INSERT INTO made VALUES ('later')")
            connection.commit()
            kept.keep(self.cloud, 'glance')
        kept.restore(self.another(), 'glance')
        self.assertEqual(['first'], self.rows(self.cloud))

    def test_own_database_is_never_replaced(self):
        with self.service() as connection:
            kept.keep(self.cloud, 'glance')
            connection.execute("INSERT INTO made VALUES ('later')")
            connection.commit()
        self.assertTrue(kept.restore(self.cloud, 'glance'))
        self.assertEqual(['first', 'later'], self.rows(self.cloud))

    def test_database_that_is_not_complete_is_not_replaced(self):
        with self.service():
            kept.keep(self.cloud, 'glance')
        cloud = self.another()
        (cloud.data / 'glance.db').touch()
        self.assertFalse(kept.restore(cloud, 'glance'))
        self.assertEqual(b'', (cloud.data / 'glance.db').read_bytes())

    def test_keys_of_tokens(self):
        for name in kept.FILES['keystone'][1:]:
            (self.cloud.data / name).mkdir()
            (self.cloud.data / name / '0').write_text(name)
        sqlite3.connect(self.cloud.data / 'keystone.db').close()
        kept.keep(self.cloud, 'keystone')
        cloud = self.another()
        self.assertTrue(kept.restore(cloud, 'keystone'))
        self.assertEqual('fernet-keys', (
            cloud.data / 'fernet-keys' / '0').read_text())

    def test_another_place_has_other_rows(self):
        with self.service():
            kept.keep(self.cloud, 'glance')
        self.assertFalse(kept.restore(self.another('other'), 'glance'))
        self.assertFalse(kept.restore(dataclasses.replace(
            self.another(), port_base=16000), 'glance'))

    def test_full_cloud_has_another_server_of_databases(self):
        with self.service():
            kept.keep(self.cloud, 'glance')
        cloud = self.another(full=True)
        self.assertFalse(kept.restore(cloud, 'glance'))
        kept.keep(cloud, 'glance')
        self.assertEqual([], list(cloud.data.iterdir()))

    def test_other_packages_make_their_own(self):
        with self.service():
            kept.keep(self.cloud, 'glance')
            with mock.patch.object(kept, '_contents', lambda: 'new'):
                self.assertFalse(kept.restore(self.another('a'), 'glance'))
        with self.subTest('and the old are forgotten'):
            self.cloud = self.another()
            with (mock.patch.object(kept, '_contents', lambda: 'new'),
                  self.service()):
                kept.keep(self.cloud, 'glance')
            self.assertEqual(['new'], [
                path.name for path in kept.root().iterdir()])

    def test_nobody_may_write(self):
        kept.root().touch()
        with self.service():
            kept.keep(self.cloud, 'glance')
        self.assertTrue(kept.restore(self.cloud, 'glance'))

    def test_complete(self):
        self.assertFalse(kept.is_complete(self.cloud))
        with self.service():
            kept.keep(self.cloud, 'glance')
        self.assertFalse(kept.is_complete(self.cloud))
