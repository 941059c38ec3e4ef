# SPDX-License-Identifier: Apache-2.0

"""The exceptions of tacker_rt: one sentence each, as in nova_rt."""

from nova_rt.rules import exception


class TackerRTError(exception.RTError):
    """Base of every error raised by tacker_rt."""

    msg_fmt = '%(reason)s'


class InvalidVnfd(TackerRTError):
    """A descriptor, or what surrounds it in a package, cannot be used.

    Argument: problem (:class:`tacker_rt.problem.Problem`).
    """

    msg_fmt = '%(problem)s'
