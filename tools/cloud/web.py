# SPDX-License-Identifier: Apache-2.0

"""Serves applications by HTTP, and checks whether others answer."""

from collections.abc import Callable
import http.client
import time
from typing import Any
import urllib.parse

from cheroot import wsgi

THREADS = 8
#: Clients do not repeat a deletion whose connection was closed meanwhile.
IDLE_S = 300


class _Body:
    """The body of a request, whose close() keeps the connection open."""

    def __init__(self, body: Any) -> None:
        self.read = body.read
        self.readline = body.readline


def server(application: Callable[..., Any], port: int) -> wsgi.Server:
    """Returns an HTTP server for the application, on the loopback only."""

    def serve(environ: dict[str, Any], start_response: Any) -> Any:
        environ['wsgi.input'] = _Body(environ['wsgi.input'])
        return application(environ, start_response)

    return wsgi.Server(('127.0.0.1', port), serve, numthreads=THREADS,
                       timeout=IDLE_S)


def answers(url: str) -> bool:
    """Returns whether the URL answers with anything but an error 5xx."""
    connection = http.client.HTTPConnection(
        urllib.parse.urlsplit(url).netloc, timeout=10)
    try:
        connection.request('GET', '/')
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return status < http.client.INTERNAL_SERVER_ERROR


def wait(*urls: str) -> None:
    """Waits until all URLs answer; the caller sets the time limit."""
    for url in urls:
        while not answers(url):
            time.sleep(0.1)
