# SPDX-License-Identifier: Apache-2.0

"""The rules of placement, as data with their sources.

Five practices come from paper 001, section VI.  The other rules are about
subjects that the paper did not measure: neighbours, quotas on pinned CPUs, and
the threads of the hypervisor.
"""

import dataclasses
import enum

PAPER = 'paper 001, best practice {}'
HERE = 'measured here: doc/source/reference/papers/001'
_UPSTREAM = 'Kubernetes issues 67577 and 51135'


class CpuPlacement(enum.StrEnum):
    """A way in which a server has its CPUs."""

    RESERVED = 'reserved'
    DEDICATED = 'dedicated'
    SHARED = 'shared'
    NESTED = 'container in VM'


@dataclasses.dataclass(frozen=True, slots=True)
class PinningRule:
    """A rule as a sentence, with its source."""

    name: str
    text: str
    source: str


SMALL = PinningRule(
    'small-container', 'A container of one or two cores must not share '
    'all cores of a host.', PAPER.format(1))
PINNED_CONTAINER = PinningRule(
    'cpu-pinned-container', 'A CPU-bound workload has the least overhead in '
    'a container with CPUs of its own.', PAPER.format(2))
VM_UNPINNED = PinningRule(
    'cpu-vm-unpinned', 'A VM with a CPU-bound workload gains nothing from '
    'pinning.', PAPER.format(3))
PINNED_IO = PinningRule(
    'io-pinned-container', 'An IO-bound workload runs best in a container '
    'with CPUs of its own, if it can have one.', PAPER.format(4))
IO_NESTED = PinningRule(
    'io-container-in-vm', 'An IO-bound workload that cannot have a container '
    'with CPUs of its own is better off in a container within a VM than in '
    'a VM or a shared container.', PAPER.format(4))
RANGES = PinningRule(
    'chr', 'A shared container should have a CHR within the range of its '
    'class.', PAPER.format(5))
NOT_SHARED = PinningRule(
    'no-pinning-to-shared-cpus', 'Never pin a server to CPUs that others '
    'use: that was slower than no pinning at all.', HERE)
NO_QUOTA = PinningRule(
    'no-quota-on-dedicated-cpus', 'Do not set a quota on dedicated CPUs: a '
    'quota gives the server less than the CPUs that are paid for.',
    _UPSTREAM)
HEADROOM = PinningRule(
    'emulator-threads', 'Leave CPU time for the threads of the hypervisor, '
    'in addition to the vCPU threads.', 'cocoon issue 203')

ALL = (SMALL, PINNED_CONTAINER, VM_UNPINNED, PINNED_IO, IO_NESTED, RANGES,
       NOT_SHARED, NO_QUOTA, HEADROOM)
