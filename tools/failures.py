# SPDX-License-Identifier: Apache-2.0

"""What failed, in a few lines a test: the end of each traceback, and warnings.

usage: stestr last --subunit | python tools/failures.py
"""

import re
import sys
from typing import Any

import subunit
import testtools

#: Characters a test; the end says what went wrong.
MOST = 1500
#: Of the last lines of its log that warn, and characters of each.
WARNINGS, WIDTH = 10, 200
_WARNS = re.compile(r'\b(?:WARNING|ERROR|CRITICAL) \[')


def brief(case: dict[str, Any]) -> str:
    """The name of one failed test, and what its details have to say."""
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
    """From a stream of subunit v2 on standard input."""
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
