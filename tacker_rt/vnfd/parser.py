# SPDX-License-Identifier: Apache-2.0

"""Prepares files for tosca-parser, hides its log and reads its errors."""

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
    """Writes a template to its path below *directory*.

    The imports of the template become absolute paths, because tosca-parser
    looks for relative paths in the working directory first.
    """
    content = dict(template)
    content['imports'] = typefiles.absolute_imports(template, name, directory)
    if not content['imports']:
        del content['imports']
    target = directory / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(yaml.dump(content, Dumper=_DUMPER, sort_keys=False))
    return target


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Turns the logs of the libraries off within the block.

    The errors that the libraries raise say the same as their logs.
    """
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
    """Returns the errors in a report, which also has lines of code."""
    lines = [line.strip().rstrip('.') for line in str(error).splitlines()]
    messages = list(filter(_ERROR.fullmatch, lines))
    first = next(filter(None, lines), 'no message')
    return messages or [f'{type(error).__name__}: {first}']
