# SPDX-License-Identifier: Apache-2.0

"""Prints a few lines for each failed test: warnings and traceback.

usage: stestr last --subunit | python tools/failures.py
"""

import re
import sys
from typing import Any

import subunit
import testtools

#: Characters of a traceback; its end says what went wrong.
MOST = 1500
#: How many warnings of a test's log are printed, and characters of each.
WARNINGS, WIDTH = 10, 200
_WARNS = re.compile(r'\b(?:WARNING|ERROR|CRITICAL) \[')


def brief(case: dict[str, Any]) -> str:
    """Returns the name of a failed test and the useful part of its details."""
    details = sorted(case['details'].items())
    words = [content.as_text().strip()[-MOST:] for name, content in details
             if name.startswith(('traceback', 'reason'))]
    words += [line[:WIDTH] for name, content in details
              if name.startswith('pythonlogging')
              for line in _warnings(content.as_text())]
    return '\n'.join([f'{case["status"].upper()}: {case["id"]}', *words])


def _warnings(log: str) -> list[str]:
    return [line for line in log.splitlines() if _WARNS.search(line)
            ][-WARNINGS:]


def main() -> None:
    """Reads a stream of subunit v2 from standard input."""
    failed: list[dict[str, Any]] = []

    def take(case: dict[str, Any]) -> None:
        if case['status'] not in ('success', 'skip', 'exists', 'xfail'):
            failed.append(case)

    result = testtools.StreamToDict(take)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(
        sys.stdin.buffer, non_subunit_name='output').run(result)
    result.stopTestRun()
    for case in failed:
        print(brief(case))
    print('\n'.join(f'FAILED: {case["id"]}' for case in failed))


if __name__ == '__main__':
    main()
