# SPDX-License-Identifier: Apache-2.0

"""The entry points of the scripts whose modules need Nova to be imported."""

import importlib
import sys
from typing import Any

from nova_rt.cli import base
from nova_rt.cli import missing
from nova_rt import version

#: The exit statuses that the pages of the commands document.
_UNCHECKED = 2
_NO_STATUS = 255
_FAILED = 1


def manage() -> Any:
    """Runs ``nova-rt-manage``."""
    base.silence()
    return _module('nova-rt-manage', _UNCHECKED).main()


def status() -> Any:
    """Runs ``nova-rt-status``."""
    base.silence()
    return _module('nova-rt-status', _NO_STATUS).main()


def compute() -> Any:
    """Runs ``nova-rt-compute``."""
    return _module('nova-rt-compute', _FAILED).main()


def _module(prog: str, failed: int) -> Any:
    """Returns the module of a script.

    If a package is missing, the function prints one sentence and ends with the
    status *failed*.  The function also answers ``--version``, because Nova's
    own ``--version`` would name the version of Nova.
    """
    if sys.argv[1:2] == ['--version']:
        print(version.line(prog))
        sys.exit(0)
    try:
        return importlib.import_module(
            'rt_operate.commands.' + prog.rpartition('-')[2])
    except ModuleNotFoundError as error:
        print(f'{prog}: {missing.sentence(error)}', file=sys.stderr)
        sys.exit(failed)
