# SPDX-License-Identifier: Apache-2.0

"""Reads and changes the state of this computer, but decides nothing.

``host`` reads the computer, ``kernel`` has one module for each kernel
interface, and ``privsep`` is the only writer in the services; a journal undoes
what fails half-way.  ``sched_setattr`` makes threads SCHED_DEADLINE, for
``privsep`` and for commands that root runs.  ``trial`` starts processes and
groups to try a kernel.
"""
