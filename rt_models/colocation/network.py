# SPDX-License-Identifier: Apache-2.0

"""Three network namespaces in a row: client, function and server.

The namespaces have no names: an idle process keeps each of them alive.
"""

from collections.abc import Sequence
import os
import pathlib
import subprocess
import time

from nova_rt.rules import exception
from rt_models.colocation import group as rt_group
from rt_models.colocation import profile as rt_profile

#: The address that clients send to, and the one that a proxy listens on.
SERVER, FUNCTION = '10.9.1.2', '10.9.0.1'
_PATIENCE_S = 10.0

_CLIENT = '''\
ip link set lo up
ip address add 10.9.0.2/24 dev out
ip link set out up gso_max_segs 1
ip route add default via 10.9.0.1
'''
#: A proxy has an interface on each side; a router forwards packets.
_FUNCTION = '''\
ip link set lo up
ip address add 10.9.0.1/24 dev in
ip address add 10.9.1.1/24 dev out
ip link set in up
ip link set out up
echo 1 > /proc/sys/net/ipv4/ip_forward
'''
#: The server has no route to the client.  Otherwise it would refuse packets
#: for closed ports, which would be work, too.
_SERVER = '''\
ip link set lo up
ip address add 10.9.1.2/24 dev in
ip link set in up
'''
_SCRIPTS = {rt_profile.Namespace.CLIENT: _CLIENT,
            rt_profile.Namespace.FUNCTION: _FUNCTION,
            rt_profile.Namespace.SERVER: _SERVER}


class Namespaces:
    """The namespaces of one function.

    :param group: the group of the processes that keep the namespaces
    """

    def __init__(self, group: rt_group.Group) -> None:
        self._group = group
        self._holders = {place: _holder(group)
                         for place in _SCRIPTS}
        client, function, server = self._holders.values()
        for left, right in ((client, function), (function, server)):
            group.run(['ip', 'link', 'add', 'out', 'netns', str(left),
                       'type', 'veth', 'peer', 'name', 'in', 'netns',
                       str(right)])
        for place, script in _SCRIPTS.items():
            self.run(place, ['sh', '-e', '-c', script])

    def inside(self, place: rt_profile.Namespace, words: Sequence[str]
               ) -> list[str]:
        """Returns the command line that runs *words* in a namespace."""
        return ['nsenter', '-n', '-t', str(self._holders[place]), *words]

    def run(self, place: rt_profile.Namespace, words: Sequence[str]) -> None:
        """Runs a command in a namespace to its end.

        :raises CannotMeasure: when the command fails
        """
        self._group.run(self.inside(place, words))

    def received(self) -> int:
        """Returns how many packets the server has received so far."""
        text = pathlib.Path('/proc', str(
            self._holders[rt_profile.Namespace.SERVER]), 'net/dev'
        ).read_text()
        return int(text.partition(' in:')[2].split()[1])


def _holder(group: rt_group.Group) -> int:
    """Starts a process with a network namespace of its own.

    :returns: the process ID
    :raises CannotMeasure: when the host creates no network namespace
    """
    process = subprocess.Popen(
        group.command(['unshare', '-n', 'sleep', 'infinity']),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, start_new_session=True)
    own, end = os.stat('/proc/self/ns/net'), time.monotonic() + _PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        if os.stat(f'/proc/{process.pid}/ns/net').st_ino != own.st_ino:
            return process.pid
        time.sleep(0.001)
    raise exception.CannotMeasure(
        what='this host', reason='it does not create a network namespace')
