# SPDX-License-Identifier: Apache-2.0

"""Finds the kernel interface without any write, for commands that only read.

nova-compute writes values to a scratch group to find the interface.  This
module only reads groups that exist, so that for two pairs of kernels the
answer is not certain.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import functools
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import two_files
from nova_rt.rules import exception

#: The extraversion of the first HCBS patches.
HCBS = 'hcbs'

_FIRST = (*cgroup.GUEST_GROUPS, '/system.slice')


class PassiveSurvey(survey.Survey):
    """A survey of existing groups instead of a scratch group."""

    def in_group(self, name: str) -> bool:
        return bool(self._values(name))

    def value(self, name: str) -> str:
        """Returns the value of an existing group that looks like a new one."""
        values = self._values(name)
        if name == two_files.PERIOD:
            # Only new groups of F3 have no period.
            values.sort(key=lambda text: text.split()[:1] != ['0'])
        return values[0]

    def attempt(self, name: str, text: str) -> survey.Outcome:
        """Returns the probable answer of the kernel to a write."""
        if name == two_files.RUNTIME:  # This tells F1 from F2.
            release = self.fs.read('/proc/sys/kernel/osrelease')
            return (survey.Outcome.SHORT if HCBS in release
                    else survey.Outcome.REFUSED)
        several = any(len(value.split()) > 1
                      for file in (two_files.RUNTIME, two_files.PERIOD)
                      for value in self._values(file))
        return (survey.Outcome.ACCEPTED if several
                else survey.Outcome.REFUSED)

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, IndexError) as error:
            raise exception.KernelError(
                interface='probe', group=self.hierarchy.mount,
                reason=f'cannot find out what the kernel offers: {error}'
            ) from error

    def _values(self, name: str) -> list[str]:
        """Returns the values of a file in all groups that have the file."""
        values = []
        for group in self._groups:
            try:
                values.append(self.fs.read(posixpath.join(group, name)))
            except OSError as error:
                if not cgroup.is_gone(error):
                    raise
        return values

    @functools.cached_property
    def _groups(self) -> list[str]:
        root = self.hierarchy.mount
        top = sorted(self.fs.children(root), key=lambda path: (
            path.removeprefix(root) not in _FIRST, path))
        below = [group for path in top for group in self.fs.children(path)]
        # On v1 the root is like other groups.  On v2 the root lacks some of
        # the files and starts with other values.
        return [*top, *below, *([root] if self.version == 1 else ())]


@dataclasses.dataclass(frozen=True, slots=True)
class Detection:
    """The interface that was found, and how certain it is.

    :ivar interface: the interface to use; None if there is none
    :ivar seen: the name of the interface that the kernel seems to have, even
        if another interface is forced; '' for none
    :ivar how: a clause that says how the interface was found
    :ivar file: the file that takes a runtime; '' if there is none
    :ivar trouble: why the interface cannot be found out; '' if it can
    :ivar deadline: True if vCPU threads are made SCHED_DEADLINE instead
    """

    interface: base.KernelInterface | None = None
    seen: str = ''
    how: str = ''
    file: str = ''
    trouble: str = ''
    deadline: bool = False

    @property
    def name(self) -> str | None:
        """The name of the interface; None if there is none."""
        if self.deadline:
            return deadline.NAME
        return self.interface.name if self.interface else None


def find(fs: cgroup.CgroupFS, forced: str | None, machines: bool = False
         ) -> Detection:
    """Returns the interface that nova-compute would probably find.

    :param forced: the value of [nova_rt] kernel_interface, or None
    :param machines: whether the guests are virtual machines, which use
        SCHED_DEADLINE if the kernel has no interface for groups
    """
    if forced == deadline.NAME:
        return Detection(deadline=True)
    try:
        detection = _find(fs, forced)
        none = detection.interface is None and not detection.file
        if none and machines and survey.hierarchy_of(fs) is not None:
            return Detection(deadline=True)
        return detection
    except (exception.KernelError, LookupError, OSError, ValueError,
            ImportError) as error:
        text = exception.clause(error)
        if forced and isinstance(error, LookupError):
            text = f'[nova_rt] kernel_interface is {forced}: {text}'
        return Detection(trouble=text)


def _find(fs: cgroup.CgroupFS, forced: str | None) -> Detection:
    if not detect.installed():
        return Detection(trouble='the entry points of nova-rt are missing, '
                         'because nova-rt is not installed')
    try:
        interface = detect.detect(fs, make_survey=PassiveSurvey)
    except exception.KernelError:
        if not forced:
            raise
        interface = None  # That is why an operator forces an interface.
    detected = interface.name if interface else ''
    if forced:
        interface = detect.detect(fs, forced, PassiveSurvey)
    hierarchy = survey.hierarchy_of(fs)
    if interface is None or hierarchy is None:
        return Detection(file=_root_file(fs, hierarchy))
    how = ('forced by [nova_rt] kernel_interface' if forced
           else _how(fs, interface, hierarchy))
    return Detection(interface, detected, how, interface.file)


def _root_file(fs: cgroup.CgroupFS, hierarchy: cgroup.Hierarchy | None) -> str:
    """Returns the file of an interface in the root group; '' for none."""
    if hierarchy is None:
        return ''
    kernel = survey.Survey(fs, hierarchy)
    files = dict.fromkeys(kind.file for _, kind
                          in sorted(detect.installed().items(), reverse=True))
    return next(filter(kernel.in_root, files), '')


def _how(fs: cgroup.CgroupFS, interface: base.KernelInterface,
         hierarchy: cgroup.Hierarchy) -> str:
    version = survey.Survey(fs, hierarchy).version
    evidence = interface.evidence(version)
    if evidence is base.Evidence.RELEASE:
        release = fs.read('/proc/sys/kernel/osrelease')
        mark = 'has' if HCBS in release else 'lacks'
        return (f'likely, because the release {release} {mark} "{HCBS}"; '
                'nova-compute verifies this with a scratch group')
    if evidence is base.Evidence.VALUES:
        return (f'likely, judging by {evidence.value}; nova-compute verifies '
                'this with a scratch group')
    return f'sure, by {evidence.value}'
