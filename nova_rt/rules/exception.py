# SPDX-License-Identifier: Apache-2.0

"""The exceptions of nova_rt.

One base class with a format string, as in Placement and os-vif.  Nothing of
Nova is used here: code that talks to Nova translates these at its edge.
"""

from typing import Any


class RTError(Exception):
    """Base of every error raised by nova_rt.

    A format that does not match its arguments raises KeyError: a bad
    message is a bug to be seen by a test, not to be swallowed.
    """

    msg_fmt = 'Unknown real-time reservation error.'

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs
        super().__init__(self.msg_fmt % kwargs)


class InvalidReservation(RTError):
    """A flavor or a hint asks for something that cannot be reserved.

    Arguments: source ('flavor extra spec', 'scheduler hint' ...), key,
    value, rule (what is wrong) and advice (what to do).
    """

    msg_fmt = 'Invalid %(source)s %(key)s=%(value)s: %(rule)s; %(advice)s.'


class InvalidWorkload(RTError):
    """A flavor, a hint or a descriptor names no type or class.

    Arguments: source, key, value, rule (what is wrong) and advice.
    """

    msg_fmt = 'Invalid %(source)s %(key)s=%(value)s: %(rule)s; %(advice)s.'


class InvalidPinning(RTError):
    """What is asked of the advice on pinning makes no sense.

    Arguments: name (of the option), value and rule.
    """

    msg_fmt = 'Invalid %(name)s %(value)s: %(rule)s.'


class InvalidMatrix(RTError):
    """A file says nothing clear about who disturbs whom.

    Arguments: path, where (a line or a cell), rule and advice.
    """

    msg_fmt = '%(path)s: %(where)s: %(rule)s; %(advice)s.'


class CannotMeasure(RTError):
    """A command of a profile fails, or the host lacks what all need."""

    msg_fmt = '%(what)s: nothing can be measured, since %(reason)s.'


class InvalidConfiguration(RTError):
    """An option of [nova_rt] contradicts the host or another option."""

    msg_fmt = 'Invalid [nova_rt] %(option)s = %(value)s: %(rule)s.'


class UnsupportedNova(RTError):
    """The installed Nova differs from the ones this release was tested on."""

    msg_fmt = ('nova_rt leans on %(name)s%(tested)s but the installed Nova '
               '%(found)s; install a tested Nova (32 to 34) or a newer '
               'nova_rt.')


class KernelError(RTError):
    """The kernel refused a reservation or holds another one than written."""

    msg_fmt = 'Kernel interface %(interface)s, group %(group)s: %(reason)s.'


class OutsideHost(RTError):
    """This process does not see the tasks and groups of the host as they are.

    Arguments: reason (why, and what to do).
    """

    msg_fmt = 'This process does not see the host: %(reason)s.'


class InvalidClaim(RTError):
    """A stored claim cannot be decoded."""

    msg_fmt = 'Cannot read the claim %(identifier)r: %(reason)s.'


class CannotChangeHints(RTError):
    """An operator wants other hints for a server, and it cannot have them."""

    msg_fmt = 'The hints of server %(uuid)s stay as they are: %(reason)s.'


class ReservationNotApplied(RTError):
    """A server could not be given its reservation and was not started."""

    msg_fmt = 'Server %(uuid)s is not started: %(reason)s.'


class InvalidLoad(RTError):
    """What is asked of the performance model makes no sense.

    Arguments: name (of the quantity, with its unit), value, rule (what is
    wrong and what to do).
    """

    msg_fmt = 'Invalid %(name)s %(value)s: %(rule)s.'


class NoAnswer(RTError):
    """No reservation gives the response times that were asked for."""

    msg_fmt = 'No reservation gives %(target)s: %(reason)s.'


class CannotPlot(RTError):
    """A drawing was asked for and cannot be made."""

    msg_fmt = 'Cannot draw %(path)s: %(reason)s.'


class CannotMonitor(RTError):
    """A source of the monitor cannot be had on this host.

    Arguments: what (the source), reason (why, and what to do).
    """

    msg_fmt = 'Cannot monitor %(what)s: %(reason)s.'


def clause(error: object) -> str:
    """What an error says, as a part of a sentence: one line, no full stop."""
    return ' '.join(str(error).split()).rstrip('.')
