# SPDX-License-Identifier: Apache-2.0

"""What failed, in a few lines a test: the end of each traceback, and of the
warnings and errors that were logged.

usage: stestr last --subunit | python tools/failures.py
"""

import sys
from typing import Any

import subunit
import testtools

#: Characters of each traceback, and of the log; the end says what went wrong.
MOST = 1500


def brief(case: dict[str, Any]) -> str:
    """The name and the last words of each traceback of one failed test.

    What was logged comes before it: a test that waits in vain does not know
    who refused.
    """
    words = [_serious(content.as_text())[-MOST:]
             for name, content in sorted(case['details'].items())
             if name.startswith('pythonlogging')]
    words += [content.as_text().strip()[-MOST:]
              for name, content in sorted(case['details'].items())
              if name.startswith(('traceback', 'reason'))]
    return '\n'.join([f'{case["status"].upper()}: {case["id"]}',
                      *filter(None, words)])


def _serious(log: str) -> str:
    return '\n'.join(line for line in log.splitlines()
                     if ' WARNING ' in line or ' ERROR ' in line)


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
