# SPDX-License-Identifier: Apache-2.0

"""tosca-parser: what it is given, what it logs and what it raises."""

from collections.abc import Iterator, Mapping
import contextlib
import logging
from pathlib import Path
import re
from typing import Any

import yaml

from tacker_rt.vnfd import typefiles

_DUMPER = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
_ERROR = re.compile(r'[A-Z]\w*(Error|Exception): .+')
_LOGGERS = ('tosca', 'tosca.model', 'heat-translator')


def stage(template: Mapping[Any, Any], name: str, directory: Path) -> Path:
    """Write a template at its path below *directory*.

    Its imports become absolute, because tosca-parser looks for relative ones
    in the working directory first.
    """
    content = dict(template)
    content['imports'] = typefiles.pointed(template, name, directory)
    if not content['imports']:
        del content['imports']
    target = directory / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(yaml.dump(content, Dumper=_DUMPER, sort_keys=False))
    return target


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What the libraries log is in what they raise, or of no use."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def errors(error: Exception) -> list[str]:
    """The errors in a report, which has the lines of code, too."""
    lines = [line.strip().rstrip('.') for line in str(error).splitlines()]
    found = list(filter(_ERROR.fullmatch, lines))
    first = next(filter(None, lines), 'no message')
    return found or [f'{type(error).__name__}: {first}']
