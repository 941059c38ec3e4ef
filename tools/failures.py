# SPDX-License-Identifier: Apache-2.0

"""What failed, in a few lines a test: no logs, and the end of each traceback.

usage: stestr last --subunit | python tools/failures.py
"""

import sys
from typing import Any

import subunit
import testtools

#: Characters a test; the end says what went wrong.
MOST = 1500


def brief(case: dict[str, Any]) -> str:
    """The name and the last words of each traceback of one failed test."""
    words = [content.as_text().strip()[-MOST:]
             for name, content in sorted(case['details'].items())
             if name.startswith(('traceback', 'reason'))]
    return '\n'.join([f'{case["status"].upper()}: {case["id"]}', *words])


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
