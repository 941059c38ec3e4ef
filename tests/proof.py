# SPDX-License-Identifier: Apache-2.0

"""The statement that a test proves, for the table of tools/matrix.py.

The arguments are literals: the tool reads them without running the tests.
"""

from collections.abc import Callable
import functools
from typing import Any


def proves(operation: str, result: str) -> Callable[[Any], Any]:
    """Marks a test that shows what an operation does to a reservation.

    The decorated test deletes all servers at its end, and checks that nothing
    is left.

    :param operation: the operation, with its circumstances
    :param result: one or more sentences on the reservation
    """
    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def checked(self: Any) -> None:
            test(self)
            self.assert_nothing_remains()
        checked.proof = operation, result  # type: ignore[attr-defined]
        return checked
    return decorate
