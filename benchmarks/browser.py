# SPDX-License-Identifier: Apache-2.0

"""Opens pages in Chromium, which chromedriver drives (W3C WebDriver)."""

import base64
from collections.abc import Iterable, Iterator
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
from typing import Any
from urllib import request

#: Debian's package chromium-driver has it; it needs the package chromium.
DRIVER = shutil.which('chromedriver') or ''
_SIZE = 'window-size=1280,800'
_STARTED = re.compile(r'started successfully on port (\d+)')


@dataclasses.dataclass(frozen=True, slots=True)
class Browser:
    """A window of Chromium.

    :ivar session: URL of the window's session at chromedriver
    """

    session: str

    def open(self, page: pathlib.Path) -> None:
        """Opens a file, and returns when its event "load" is over."""
        self._post('url', url=page.as_uri())

    def run(self, script: str) -> Any:
        """Returns what a function with this body returns in the page."""
        return self._post('execute/sync', script=script, args=[])

    def wait_for(self, script: str) -> Any:
        """Returns what this body of a function gives to its argument."""
        return self._post('execute/async', script=script, args=[])

    def errors(self) -> list[str]:
        """Returns the errors on the console since the last call."""
        return [each['message'] for each in self._post('se/log',
                                                       type='browser')]

    def set_colours(self, scheme: str) -> None:
        """Prefers a colour scheme, light or dark."""
        self._post('goog/cdp/execute', cmd='Emulation.setEmulatedMedia',
                   params={'features': [{'name': 'prefers-color-scheme',
                                         'value': scheme}]})

    def point(self, x: int, y: int) -> None:
        """Moves the mouse to a place in the window."""
        self._post('actions', actions=[{
            'type': 'pointer', 'id': 'mouse', 'actions': [
                {'type': 'pointerMove', 'duration': 0, 'x': x, 'y': y}]}])

    def resize(self, width: int, height: int) -> None:
        """Gives the page a size in pixels."""
        self._post('goog/cdp/execute',
                   cmd='Emulation.setDeviceMetricsOverride', params={
                       'width': width, 'height': height,
                       'deviceScaleFactor': 1, 'mobile': False})

    def screenshot(self) -> bytes:
        """Returns what the window shows, as PNG."""
        return base64.b64decode(_send('GET', f'{self.session}/screenshot'))

    def _post(self, command: str, **body: Any) -> Any:
        return _send('POST', f'{self.session}/{command}', body)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Starts Chromium without a display."""
    with subprocess.Popen([DRIVER, '--port=0'], text=True,
                          stdout=subprocess.PIPE) as driver:
        try:
            port = _port(driver.stdout or ())
            server = f'http://127.0.0.1:{port}/session'
            made = _send('POST', server, {'capabilities': {
                'alwaysMatch': _wishes()}})
            session = f'{server}/{made["sessionId"]}'
            yield Browser(session)
            _send('DELETE', session)
        finally:
            driver.terminate()


def _wishes() -> dict[str, Any]:
    options = ['headless', 'hide-scrollbars', _SIZE]
    if os.geteuid() == 0:
        options.append('no-sandbox')
    return {'goog:chromeOptions': {'args': options},
            'goog:loggingPrefs': {'browser': 'SEVERE'}}


def _port(lines: Iterable[str]) -> str:
    for line in lines:
        started = _STARTED.search(line)
        if started:
            return started[1]
    raise RuntimeError('chromedriver did not start')


def _send(method: str, url: str, body: dict[str, Any] | None = None) -> Any:
    asked = request.Request(  # noqa: S310
        url, None if body is None else json.dumps(body).encode(),
        {'Content-Type': 'application/json'}, method=method)
    # A proxy of the environment does not serve 127.0.0.1.
    opener = request.build_opener(request.ProxyHandler({}))
    with opener.open(asked) as answer:
        return json.load(answer)['value']
