# SPDX-License-Identifier: Apache-2.0

"""How metrics are pushed; who pushes is loaded only where it is wanted."""

from collections.abc import Callable
import dataclasses
import importlib
import os
from typing import Protocol

from nova_rt.rules import exception
from rt_monitor import exposition

_PUSHER = 'rt_monitor.otlp'


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """Where to, and how often.

    :ivar endpoint: a URL, with the path, as ``https://host:4318/v1/metrics``
    :ivar authority: the file of who signed the endpoint's certificate; ''
        for those that Python's requests trusts
    :ivar certificate, key: files that we show the endpoint; '' for none
    """

    endpoint: str
    interval_s: float = 60.0
    authority: str = ''
    certificate: str = ''
    key: str = ''


class Push(Protocol):
    """What pushes."""

    failures: int

    def start(self) -> None:
        """Push from now on."""


def prepare(options: Options,
            families: Callable[[], list[exposition.Family]]) -> Push:
    """What pushes as the options say; it does not yet.

    :param families: all metrics, as they are now
    :raises CannotMonitor: the extra is not installed, or a file not readable
    """
    for path in (options.authority, options.certificate, options.key):
        if path and not os.access(path, os.R_OK):
            raise exception.CannotMonitor(
                what='with a push', reason=f'{path} is not there, or not '
                f'readable by the user that the service runs as')
    try:
        pusher = importlib.import_module(_PUSHER)
    except ImportError as error:
        raise exception.CannotMonitor(
            what='with a push', reason='OpenTelemetry is not installed; '
            'pip install nova-rt[otlp]') from error
    found: Push = pusher.Push(options, families)
    return found
