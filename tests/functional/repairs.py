# SPDX-License-Identifier: Apache-2.0

"""An operator, who repairs Placement after Nova."""

import contextlib
import io
import json
from typing import Any

import fixtures
from nova.cmd import manage as nova_manage

from rt_operate.commands import manage
from rt_operate.manage import command

#: How often the operator reads what is wrong, and does what helps.
_ROUNDS = 3


class Operator(fixtures.Fixture):
    """Runs nova-rt-manage, which cannot look at an emulated kernel."""

    def __init__(self, test: Any) -> None:
        super().__init__()
        self._test = test

    def _setUp(self) -> None:
        for name, new in (
                # Nothing happens meanwhile, so one comparison is enough.
                ('command.examine', command._compare),
                ('start.configure', lambda *args: None),
                ('read.load.Loader._kernel', lambda *args: None)):
            self.useFixture(fixtures.MonkeyPatch(
                f'rt_operate.manage.{name}', new))

    def heal(self) -> int:
        """Repairs Placement; returns how much there was to repair.

        Nova leaves the allocation of a migration that was given up for
        good: it is for ``nova-manage placement audit``, or for us.
        """
        differences = self._check()
        if differences:
            self._manage('heal', '--apply')
            self._test.assertEqual([], self._check())
        return len(differences)

    def obey(self) -> None:
        """Does what the check advises, until the check finds nothing."""
        for _ in range(_ROUNDS):
            remedies = [each['remedy'] for each in self._check()]
            for remedy in remedies:
                for typed in remedy.removeprefix('run ').split(', then '):
                    self._type(*typed.split())
        self._test.assertEqual([], self._check())

    def _type(self, program: str, *arguments: str) -> None:
        if program == 'nova-rt-manage':
            self._manage(*arguments)
            return
        _, what, _, uuid = arguments[:4]
        nova, out = nova_manage.PlacementCommands(), io.StringIO()
        with contextlib.redirect_stdout(out):
            if what == 'audit':
                nova.audit(provider_uuid=uuid, delete=True)
            else:
                nova.heal_allocations(instance_uuid=uuid)

    def audit(self) -> None:
        """Deletes orphans like nova-manage placement audit, but no servers."""
        for uuid in self._test.compute_rp_uuids.values():
            for consumer in self._test._get_allocations_by_provider_uuid(
                    uuid):
                self._test.placement.delete(f'/allocations/{consumer}')

    def _check(self) -> list[Any]:
        found = json.loads(self._manage('check', '-f', 'json')[1])
        self._test.assertEqual([], found['unchecked'])
        return list(found['differences'])

    @staticmethod
    def _manage(*argv: str) -> tuple[int, str]:
        out = io.StringIO()
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(out)):
            code = manage.main(argv)
        return code, out.getvalue()
