# SPDX-License-Identifier: Apache-2.0

"""The options for pushing metrics; loads the exporter only if it is needed."""

from collections.abc import Callable
import dataclasses
import importlib
import os
from typing import Protocol

from nova_rt.rules import exception
from rt_monitor import exposition

_PUSHER = 'rt_monitor.otlp'


@dataclasses.dataclass(frozen=True, slots=True)
class PushOptions:
    """The endpoint to which metrics are pushed, and the interval.

    :ivar endpoint: the URL with its path, for example
        ``https://host:4318/v1/metrics``
    :ivar interval_s: the time between two pushes, in seconds
    :ivar authority: the file of the authority that signed the certificate of
        the endpoint; '' for the authorities that Python's requests trusts
    :ivar certificate: the file of our own certificate for the endpoint; ''
        for none
    :ivar key: the file of the key of this certificate
    """

    endpoint: str
    interval_s: float = 60.0
    authority: str = ''
    certificate: str = ''
    key: str = ''


class Exporter(Protocol):
    """An exporter that pushes metrics.

    :ivar failures: the number of pushes that failed
    """

    failures: int

    def start(self) -> None:
        """Begins to push."""


def prepare(options: PushOptions,
            families: Callable[[], list[exposition.Family]]) -> Exporter:
    """Returns an exporter that has not begun to push.

    :param families: a function that returns all metrics as they are now
    :raises CannotMonitor: when the extra ``otlp`` is not installed, or a file
        cannot be read
    """
    for path in (options.authority, options.certificate, options.key):
        if path and not os.access(path, os.R_OK):
            raise exception.CannotMonitor(
                what='with a push', reason=f'{path} does not exist, or the '
                'user that the service runs as cannot read it')
    try:
        pusher = importlib.import_module(_PUSHER)
    except ImportError as error:
        raise exception.CannotMonitor(
            what='with a push', reason='OpenTelemetry is not installed; '
            'run "pip install nova-rt[otlp]"') from error
    exporter: Exporter = pusher.OtlpExporter(options, families)
    return exporter
