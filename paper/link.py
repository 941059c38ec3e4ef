# SPDX-License-Identifier: Apache-2.0

"""Makes a link of limited bandwidth: a veth pair to a network namespace.

The server is outside the namespace, and clients are inside.  ``tc tbf`` limits
what the clients send.
"""

from collections.abc import Iterator
import contextlib
import os
import subprocess

from paper import rtwalk

#: Addresses for benchmarks (RFC 2544), which are not routed.
SERVER, CLIENT = '198.18.0.1', '198.18.0.2'
_MTU = 1500
#: A little more than a full frame, because tc rounds the size.
_BURST = 1600
#: From this bandwidth on (Mb/s) the link must not be a limit: with the smaller
#: bucket and a timer for each frame, the client could not send on time.
_FAST, _FAST_BURST = 1000, 1_000_000
#: The paper's limit of how long a packet may wait in the bucket.
_LATENCY = '100ms'


@contextlib.contextmanager
def limited(megabits: int) -> Iterator[rtwalk.Endpoint]:
    """Sets the link up, yields the server's endpoint, and removes the link.

    :raises subprocess.CalledProcessError: when the user lacks privileges
    """
    name = f'rtwalk{os.getpid()}'
    inside = ('ip', 'netns', 'exec', name)
    outer, inner = f'rtw{os.getpid()}a', f'rtw{os.getpid()}b'
    with contextlib.ExitStack() as stack:
        _run('ip', 'netns', 'add', name)
        stack.callback(_run, 'ip', 'netns', 'delete', name)
        _run('ip', 'link', 'add', outer, 'type', 'veth', 'peer', 'name',
             inner, 'netns', name)
        stack.callback(_run, 'ip', 'link', 'delete', outer)
        _run('ip', 'address', 'add', f'{SERVER}/30', 'dev', outer)
        _run('ip', 'link', 'set', outer, 'up')
        _run(*inside, 'ip', 'address', 'add', f'{CLIENT}/30', 'dev', inner)
        _run(*inside, 'ip', 'link', 'set', inner, 'up')
        # Whole datagrams of several frames would not fit into the bucket.
        _run(*inside, 'ip', 'link', 'set', inner, 'gso_max_size', str(_MTU))
        _run(*inside, 'tc', 'qdisc', 'add', 'dev', inner, 'root', 'tbf',
             'rate', f'{megabits}mbit', 'burst', str(
                 _FAST_BURST if megabits >= _FAST else _BURST),
             'latency', _LATENCY)
        yield rtwalk.Endpoint(SERVER, prefix=inside)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
