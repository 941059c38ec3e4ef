# SPDX-License-Identifier: Apache-2.0

"""What a test proves, for the table that tools/matrix.py writes.

The arguments are literals: the tool reads them without running the tests.
"""

from collections.abc import Callable
import functools
from typing import Any


def proves(operation: str, result: str) -> Callable[[Any], Any]:
    """The test shows what becomes of the reservation in an operation.

    After it all servers are deleted, and nothing may be left.
    """
    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def checked(self: Any) -> None:
            test(self)
            self.assert_nothing_remains()
        checked.proof = operation, result  # type: ignore[attr-defined]
        return checked
    return decorate
