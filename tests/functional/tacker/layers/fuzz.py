# SPDX-License-Identifier: Apache-2.0

"""Mutants of descriptors and packages, through validate, translate and pack.

Arguments: the seed and the number.  JSON out: counts by what was done and
its exit status, findings, the longest CPU seconds of one, and the megabytes
that the process had grown by at its largest.
"""

import collections
import contextlib
import io
import json
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time
import traceback

_TOP = pathlib.Path(__file__).parents[4]
sys.path.insert(0, str(_TOP))

import mutants  # noqa: E402
import readings  # noqa: E402
import watch  # noqa: E402

from tacker_rt.cmd import main  # noqa: E402
from tacker_rt.vnfd import typefiles  # noqa: E402


def _validate(case):
    path = case.random.choice((case.vnfd, case.package, case.archive))()
    return ('validate', str(path)), readings.validated


def _translate(case):
    return ('translate', '--output-dir', str(case.out), '--image', 'i',
            str(case.vnfd())), readings.translated


def _pack(case):
    source = case.random.choice((case.vnfd, case.package))()
    return ('pack', '--image', 'i', str(source),
            str(case.csar)), readings.packed


def _texts(case):
    return ('translate', '--output-dir', str(case.out),
            str(case.texts())), readings.texts_kept


def _listed(case):
    """Returns all files that were there, or that nobody may have made."""
    ours = (case.inside, case.out)
    return {path for path in case.folder.rglob('*')
            if path != case.csar and path not in ours
            and not any(one in path.parents for one in ours)
            } | set(case.folder.parent.iterdir())


def _run(argv):
    """Returns the exit status, and a traceback."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main.main(list(argv))
    except SystemExit as error:
        status = error.code
    except BaseException:
        return 'traceback', traceback.format_exc()
    if 'Traceback' in err.getvalue():
        return 'traceback', err.getvalue()
    return status, None


def _findings(case, argv, accepted, watched):
    """Returns the mistakes of one case, and its exit status."""
    known = _listed(case)
    tempfile.tempdir = str(case.temporary)
    with watched.over(case.inside, case.out, case.csar, case.temporary,
                      os.devnull):
        status, text = _run(argv)
    found = [text[-600:]] if text else []
    found += watched.seen
    watched.seen.clear()
    stray = _listed(case) - known
    if stray:
        found.append(f'stray: {sorted(map(str, stray))}')
    if status == 0:
        try:
            found += accepted(case, pathlib.Path(argv[-1]))
        except Exception:
            found.append(f'accepted: {traceback.format_exc()[-600:]}')
    return found, status


def _megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main_loop(seed, count):
    sys.dont_write_bytecode = True
    typefiles.tacker_directory()
    _run(('translate', str(mutants.VNFDS[0])))
    watched = watch.Watch((_TOP, sys.prefix, sys.base_prefix))
    before, longest = _megabytes(), 0.0
    counts, findings = collections.Counter(), []
    for number in range(count):
        folder = pathlib.Path.cwd() / f'case{number}'
        folder.mkdir()
        case = mutants.Case(f'{seed}-{number}', folder)
        kind = case.random.choice((_validate, _validate, _translate, _pack,
                                   _texts))
        started = time.process_time()
        argv, accepted = kind(case)
        found, status = _findings(case, argv, accepted, watched)
        longest = max(longest, time.process_time() - started)
        counts[f'{kind.__name__[1:]} {status}'] += 1
        findings += [[number, each] for each in found]
        shutil.rmtree(folder)
    json.dump({'counts': counts, 'findings': findings[:20],
               'seconds': longest, 'megabytes': _megabytes() - before},
              sys.stdout)


if __name__ == '__main__':
    os.umask(0o077)
    main_loop(sys.argv[1], int(sys.argv[2]))
