# SPDX-License-Identifier: Apache-2.0

"""Defines the exceptions of nova_rt.

All exceptions have one base class with a format string, as in Placement and
os-vif.  This module does not use Nova: the code that Nova calls translates
these exceptions into Nova's exceptions.
"""

from typing import Any


class RTError(Exception):
    """Base class of every error that nova_rt raises.

    If an argument of the format string is missing, the constructor raises
    KeyError: a bad message is a bug, and a test must find this bug.
    """

    msg_fmt = 'Unknown real-time reservation error.'

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs
        super().__init__(self.msg_fmt % kwargs)


class InvalidReservation(RTError):
    """A flavor or a hint asks for a reservation that cannot be made.

    Arguments: source ('flavor extra spec', 'scheduler hint' ...), key,
    value, rule (what is wrong) and advice (what to do).
    """

    msg_fmt = 'Invalid %(source)s %(key)s=%(value)s: %(rule)s; %(advice)s.'


class InvalidWorkload(RTError):
    """A flavor, a hint or a descriptor has a bad workload type or class.

    Arguments: source, key, value, rule (what is wrong) and advice (what to
    do).
    """

    msg_fmt = 'Invalid %(source)s %(key)s=%(value)s: %(rule)s; %(advice)s.'


class InvalidPinning(RTError):
    """An option for the advice on pinning has a value that makes no sense.

    Arguments: name (of the option), value and rule.
    """

    msg_fmt = 'Invalid %(name)s %(value)s: %(rule)s.'


class InvalidMatrix(RTError):
    """The file of an interference matrix cannot be used.

    Arguments: path, where (a line or a cell), rule (what is wrong) and
    advice (what to do).
    """

    msg_fmt = '%(path)s: %(where)s: %(rule)s; %(advice)s.'


class CannotMeasure(RTError):
    """A command of a profile fails, or the host lacks what profiles need."""

    msg_fmt = '%(what)s: nothing can be measured, since %(reason)s.'


class InvalidConfiguration(RTError):
    """An option of [nova_rt] contradicts the host or another option."""

    msg_fmt = 'Invalid [nova_rt] %(option)s = %(value)s: %(rule)s.'


class UnsupportedNova(RTError):
    """The installed Nova differs from those this release was tested with."""

    msg_fmt = ('nova_rt relies on %(name)s%(tested)s, but the installed Nova '
               '%(found)s; install a tested Nova (31 to 34) or a newer '
               'nova_rt.')


class KernelError(RTError):
    """The kernel refuses a budget, or holds another than the written one."""

    msg_fmt = 'Kernel interface %(interface)s, group %(group)s: %(reason)s.'


class OutsideHost(RTError):
    """This process does not see all tasks and control groups of the host.

    Arguments: reason (why, and what to do).
    """

    msg_fmt = 'This process does not see the host: %(reason)s.'


class InvalidClaim(RTError):
    """A stored claim cannot be decoded."""

    msg_fmt = 'Cannot read the claim %(identifier)r: %(reason)s.'


class CannotChangeHints(RTError):
    """The hints of a server cannot be changed as an operator asked."""

    msg_fmt = 'The hints of server %(uuid)s are not changed: %(reason)s.'


class CannotChangeReservation(RTError):
    """The reservation of a server cannot be changed while it runs."""

    msg_fmt = ('The reservation of server %(uuid)s is not changed: '
               '%(reason)s.')


class CannotDefragment(RTError):
    """The vCPUs of a host cannot be moved as an operator asked."""

    msg_fmt = 'Host %(host)s: %(reason)s.'


class ReservationNotApplied(RTError):
    """A server was not started because it could not get its reservation."""

    msg_fmt = 'Server %(uuid)s is not started: %(reason)s.'


class InvalidLoad(RTError):
    """The performance model was given a value that makes no sense.

    Arguments: name (of the quantity, with its unit), value and rule (what
    is wrong and what to do).
    """

    msg_fmt = 'Invalid %(name)s %(value)s: %(rule)s.'


class NoAnswer(RTError):
    """No reservation gives the response times that were asked for."""

    msg_fmt = 'No reservation gives %(target)s: %(reason)s.'


class CannotPlot(RTError):
    """A drawing was requested but cannot be made."""

    msg_fmt = 'Cannot draw %(path)s: %(reason)s.'


class CannotMonitor(RTError):
    """A source of the monitor is not available on this host.

    Arguments: what (the source), reason (why, and what to do).
    """

    msg_fmt = 'Cannot monitor %(what)s: %(reason)s.'


def clause(error: object) -> str:
    """Returns the message of an error as a clause: one line, no full stop."""
    return ' '.join(str(error).split()).rstrip('.')
