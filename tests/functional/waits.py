# SPDX-License-Identifier: Apache-2.0

"""Waits of the tests for Nova: they look soon, then less and less often.

Nova's own helpers look every half second, and five seconds long: too rarely
for a test, and not long enough for a busy machine.
"""

from collections.abc import Callable, Sequence
import time
from typing import Any

from nova.tests.functional.api import client

PATIENCE_SECONDS = 120
_FIRST_SECONDS, _LONGEST_SECONDS = 0.03, 0.5

Server = dict[str, Any]


class Waits:
    """Takes the place of the helpers of Nova's ``InstanceHelperMixin``."""

    def until(self, look: Callable[[], Any], story: Callable[[], str]) -> Any:
        """Returns what *look* finds at last.

        :param look: something false means: not yet
        :param story: what to say when it never comes
        :raises AssertionError: after PATIENCE_SECONDS
        """
        pause, end = _FIRST_SECONDS, time.monotonic() + PATIENCE_SECONDS
        while not (found := look()):
            if time.monotonic() > end:
                self.fail(story())
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_SECONDS)
        return found

    def _wait_for_server_parameter(
            self, server: Server, expected_params: dict[str, Any],
            max_retries: int = 0, api: Any = None,
            wait_for_fault_key: bool = True) -> Server:
        api = api or self.admin_api
        found: Server = {}

        def reached() -> bool:
            found.clear()
            found.update(api.get_server(server['id']))
            # Nova sets the state first, and then notes why.
            return expected_params.items() <= found.items() and (
                not wait_for_fault_key or 'fault' in found
                or expected_params.get('status') != 'ERROR')

        self.until(reached, lambda: f'never {expected_params}: {found}')
        return found

    def _wait_until_deleted(self, server: Server) -> None:
        was_in_error = server.get('status') == 'ERROR'

        def gone() -> bool:
            try:
                found = self.api.get_server(server['id'])
            except client.OpenStackApiNotFoundException:
                return True
            if not was_in_error and found['status'] == 'ERROR':
                self.fail(f'not deleted: {found}')
            return False

        self.until(gone, lambda: f'never deleted: {server["id"]}')

    def _wait_for_migration_status(
            self, server: Server, expected_statuses: Sequence[str]
            ) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            return next((
                each for each in self.admin_api.api_get(
                    '/os-migrations').body['migrations']
                if each['instance_uuid'] == server['id']
                and each['status'].lower() in map(
                    str.lower, expected_statuses)), None)

        return dict(self.until(reached, lambda: (
            f'no migration of {server["id"]} is ever {expected_statuses}')))

    def _wait_for_assert(self, assert_func: Callable[[], object]) -> None:
        last: list[AssertionError] = []

        def holds() -> bool:
            try:
                assert_func()
            except AssertionError as error:
                last[:] = [error]
                return False
            return True

        self.until(holds, lambda: str(last[0]))
