# SPDX-License-Identifier: Apache-2.0

"""The exceptions of tacker_rt; each is one sentence, as in nova_rt."""

from nova_rt.rules import exception


class TackerRTError(exception.RTError):
    """The base class of all errors of tacker_rt."""

    msg_fmt = '%(reason)s'


class InvalidVnfd(TackerRTError):
    """A descriptor, or a file around it, cannot be used.

    Argument: problem (:class:`tacker_rt.problem.Problem`).
    """

    msg_fmt = '%(problem)s'
