# SPDX-License-Identifier: Apache-2.0

"""Compares Nova's own functional tests without and with the plugin.

All tests run with the plugin.  The tests that do not pass run once without the
plugin, alone, and once more with the plugin, because the result of some tests
of Nova depends on the order of its threads.  Exit status 0: each test that
passes without the plugin passes with it.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

from tests.full.nova_own import suites

_PREFIX = 'nova.tests.functional.'


def outcomes(variant, names):
    """Returns the outcome of each test in a process of its own."""
    found = {}
    with tempfile.TemporaryFile('w+') as errors, subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-m',
             'tests.full.nova_own.worker', variant, *names], text=True,
            stdout=subprocess.PIPE, stderr=errors,
            # Nova's fixtures refuse to run beside a proxy.
            env={key: value for key, value in os.environ.items()
                 if not key.endswith('_proxy')}) as worker:
        for line in worker.stdout:
            test, outcome, text = json.loads(line)
            found[test] = [outcome, text]
            print(f'  {variant} the plugin: {outcome} '
                  f'{test.removeprefix(_PREFIX)}', flush=True)
        if worker.wait():
            errors.seek(0)
            raise SystemExit(f'{" ".join(names)}, {variant} the plugin: exit '
                             f'status {worker.returncode}\n'
                             f'{errors.read()[-3000:]}')
    return found


def compared(name, both):
    """Returns the outcomes without and with the plugin.

    :param both: run all tests without it too, not only what fails with it
    """
    plugged = outcomes('with', [name])
    without = outcomes('without', [name]) if both else {}
    rest = [test for test in left(plugged) if test.startswith(_PREFIX)]
    for test in [] if both else rest:
        without |= outcomes('without', [test.removeprefix(_PREFIX)])
    for test in rest:
        if without[test][0] == 'passed':
            plugged |= outcomes('with', [test.removeprefix(_PREFIX)])
    return without, plugged


def left(results):
    """Returns the tests that did not pass."""
    return [test for test, (outcome, _) in results.items()
            if outcome != 'passed']


def told(results):
    """Returns the counts in words."""
    counts = collections.Counter(outcome for outcome, _ in results.values())
    return ', '.join(f'{counts[each]} {each}' for each in (
        'passed', 'failed', 'skipped') if counts[each]) or 'none'


def broken(without, plugged):
    """Returns the tests that pass only without the plugin."""
    return [test for test in left(plugged)
            if without.get(test, ['passed'])[0] == 'passed']


def arguments():
    parser = argparse.ArgumentParser(
        prog='python -m tests.full.nova_own', description=__doc__)
    parser.add_argument('--both', action='store_true',
                        help='run all of them without the plugin, too')
    parser.add_argument(
        'names', nargs='*', metavar='NAME', help='a module, class or test '
        'below nova.tests.functional, or one of: ' + ', '.join(suites.SUITES))
    return parser.parse_args()


def main():
    given = arguments()
    names = [name for each in given.names or suites.SUITES
             for name in suites.SUITES.get(each, (each,))]
    without, plugged = {}, {}
    for name in names:
        found = compared(name, given.both)
        without |= found[0]
        plugged |= found[1]
        print(f'{name}: {told(found[1])}; without the plugin '
              f'{told(found[0])}', flush=True)
        for test in left(found[1]):
            print(f'  {test}: {" ".join(found[1][test])}\n  without the '
                  f'plugin: {" ".join(found[0].get(test, ["unknown"]))}')
    worse = broken(without, plugged)
    print(f'{len(plugged)} tests with the plugin: {told(plugged)}; without '
          f'it {len(without)}: {told(without)}; {len(worse)} fail by it')
    return 1 if worse or not plugged else 0


if __name__ == '__main__':
    sys.exit(main())
