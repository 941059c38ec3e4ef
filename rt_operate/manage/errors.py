# SPDX-License-Identifier: Apache-2.0

"""Turns errors of databases, Placement and the kernel into sentences."""

from collections.abc import Iterator
import contextlib

from keystoneauth1 import exceptions as ks_exceptions
from nova import exception as nova_exception
from oslo_db import exception as db_exception
from sqlalchemy import exc as sa_exceptions

from nova_rt.cli import base
from nova_rt.rules import exception

_DATABASE = (db_exception.DBError, sa_exceptions.SQLAlchemyError,
             db_exception.CantStartEngineError)
_PLACEMENT = (ks_exceptions.ClientException,)

#: The errors that cells, Placement and the kernel are known to raise.
ERRORS = (*_DATABASE, *_PLACEMENT, nova_exception.NovaException,
          exception.RTError, OSError)

_LENGTH = 300


def sentence(error: BaseException) -> str:
    """Returns one line that says what failed."""
    # The SQL statement is cut off, because it helps less than the reason.
    text = exception.clause(str(error).partition('[SQL:')[0])
    if len(text) > _LENGTH:
        text = text[:_LENGTH] + '...'
    if isinstance(error, PermissionError):
        return base.no_rights(error).rstrip('.')
    if isinstance(error, _DATABASE):
        return f'the database cannot be used: {text}'
    if isinstance(error, _PLACEMENT):
        return f'Placement or Keystone cannot be reached: {text}'
    return text or type(error).__name__


@contextlib.contextmanager
def noted(sentences: list[str], subject: str) -> Iterator[None]:
    """Catches a known error and adds a sentence, so that the command goes on.

    :param sentences: the list to which the sentence is added
    :param subject: what was read or done, as the beginning of the sentence
    """
    try:
        yield
    except ERRORS as error:
        sentences.append(f'{subject}: {sentence(error)}')
