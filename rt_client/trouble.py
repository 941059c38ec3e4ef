# SPDX-License-Identifier: Apache-2.0

"""Says what is wrong with a host, from the data that the host published."""

from collections.abc import Iterator

from nova_rt.rules import hostmap
from nova_rt.rules import words


def sentences(published: hostmap.HostMap | None,
              service: tuple[str, str] | None) -> Iterator[str]:
    """Yields a sentence for each trouble of a host.

    :param published: the map of the host; None if it published none
    :param service: state and status of nova-compute; None if Nova has no
        such service
    """
    if service is None or service[0] != 'up':
        yield 'nova-compute does not answer'
    elif service[1] != 'enabled':
        yield 'nova-compute is disabled'
    if published is None:
        yield 'nova-rt publishes nothing that this client can read'
        return
    if not published.state.total:
        yield ('offers no reservations'
               + (f': {published.reason}' if published.reason else ''))
        return
    state = published.state
    over = [cpu for cpu in state.cpus if state.free(cpu) < 0]
    if over:
        yield (f'more is claimed than the cap allows on '
               f'{words.ids(over)}')
    for stranger in published.strangers:
        yield (f'{stranger} holds {stranger.holds}, but Nova has no such '
               f'server here')
