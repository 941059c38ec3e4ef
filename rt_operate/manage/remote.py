# SPDX-License-Identifier: Apache-2.0

"""Asks the nova-compute of a host to do something, by Nova's own RPC."""

from typing import Any

from nova.compute import rpcapi
import nova.conf
from nova import context as nova_context
from nova import exception as nova_exception
from nova import rpc
import oslo_messaging  # type: ignore[import-untyped]

from nova_rt.rules import exception

CONF = nova.conf.CONF

#: Any version of the 6th series will do, because the methods are not Nova's.
_VERSION = '6.0'
_OLDER = ('NoSuchMethod', 'UnsupportedVersion')


class Refused(Exception):
    """nova-compute refuses or does not answer; the text is the reason."""


class NoAnswer(Refused):
    """nova-compute does not answer, and may have done what it was asked."""


def call(host: str, cell: Any, method: str, older: str, **arguments: Any
         ) -> Any:
    """Calls a method of the nova-compute of a host, and returns its result.

    :param cell: the objects.CellMapping of the host
    :param older: what a nova-compute without the method cannot do, and what to
        do instead
    :raises Refused: when nova-compute refuses or does not answer
    """
    admin = nova_context.get_admin_context()
    if rpc.TRANSPORT is None:
        rpc.init(CONF)
    try:
        with nova_context.target_cell(admin, cell) as targeted:
            client = rpcapi.ComputeAPI().router.client(targeted).prepare(
                server=host, version=_VERSION)
            return client.call(targeted, method, **arguments)
    except nova_exception.NovaException as error:
        raise Refused(exception.clause(error)) from None
    except oslo_messaging.RemoteError as error:
        raise Refused(
            f'nova-compute on {host} runs without nova-rt, or a release that '
            f'{older}' if error.exc_type in _OLDER else
            exception.clause(f'{error.exc_type}: {error.value}')) from None
    except oslo_messaging.MessagingException as error:
        raise NoAnswer(
            f'nova-compute on {host} does not answer '
            f'({exception.clause(error) or type(error).__name__})') from None
