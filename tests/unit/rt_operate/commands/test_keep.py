# SPDX-License-Identifier: Apache-2.0

"""``nova-rt advise --apply``: which server a decision changes."""

import argparse
import contextlib
import dataclasses
import io
from unittest import mock

from oslotest import base

from rt_operate.commands import keep
from rt_operate import loop


@dataclasses.dataclass
class Measured:
    """The part of advice.MeasuredLoad that is read here."""

    reservation: int


class KeepTest(base.BaseTestCase):

    def test_another_server_of_the_same_name(self) -> None:
        """The first server must not get what the second one needs.

        The loop decides about what a server reserves, not about what the
        kernel grants.
        """
        changed = []
        auto = mock.Mock()
        auto.Server.side_effect = lambda prog, uuid, files: mock.Mock(
            change=lambda runtime_us: changed.append((uuid, runtime_us)),
            reserved=lambda granted: 10 * granted)
        answers = iter([('first', Measured(1)), ('second', Measured(2))])
        controllers = mock.Mock(side_effect=lambda *args: mock.Mock(
            step=lambda measured: loop.Decision(measured.reservation,
                                                'for a test')))
        args = argparse.Namespace(times=2, format='text', config_file=())
        with (mock.patch.object(keep.importlib, 'import_module',
                                return_value=auto),
              mock.patch.object(loop, 'Loop', controllers),
              contextlib.redirect_stdout(io.StringIO())):
            keep.run(args, mock.Mock(), mock.Mock(), lambda _: next(answers))
        self.assertEqual([('first', 10), ('second', 20)], changed)
