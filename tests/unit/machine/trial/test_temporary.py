# SPDX-License-Identifier: Apache-2.0

"""Groups of one command, as files."""

import pathlib
import tempfile
import unittest
from unittest import mock

from nova_rt.machine.trial import temporary


class EndTest(unittest.TestCase):
    """A group of cgroup v2 whose lists are empty."""

    def setUp(self) -> None:
        self.group = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        (self.group / 'cgroup.threads').write_text('')

    def populated(self, number: int) -> None:
        (self.group / 'cgroup.events').write_text(
            f'populated {number}\nfrozen 0\n')

    def test_all_have_ended(self) -> None:
        self.populated(0)
        temporary.end(self.group)

    def test_cgroup_v1_does_not_tell(self) -> None:
        (self.group / 'tasks').write_text('')
        temporary.end(self.group)

    def test_what_is_listed_no_more_is_waited_for(self) -> None:
        """The task needs the budget that the caller is about to take away."""
        self.populated(1)
        with (mock.patch.object(temporary, '_PATIENCE_S', 0.05),
              self.assertRaisesRegex(TimeoutError, 'do not end')):
            temporary.end(self.group)
