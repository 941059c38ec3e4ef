# SPDX-License-Identifier: Apache-2.0

"""Which kernel interface this is, from what can be seen without touching.

nova-compute asks a scratch group how it takes values.  We look at the groups
that exist, so two pairs of kernels can only be told apart by what is likely.
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

_FIRST = (*cgroup.PARTITIONS, '/system.slice')


class PassiveSurvey(survey.Survey):
    """Existing groups in place of a scratch group."""

    def in_group(self, name: str) -> bool:
        return bool(self._values(name))

    def value(self, name: str) -> str:
        """What a new group would hold, as far as one looks like new."""
        values = self._values(name)
        if name == two_files.PERIOD:
            # No period at all: only new groups of F3 are like that.
            values.sort(key=lambda text: text.split()[:1] != ['0'])
        return values[0]

    def attempt(self, name: str, text: str) -> survey.Outcome:
        """What the kernel would likely answer."""
        if name == two_files.RUNTIME:  # F1 or F2?
            release = self.fs.read('/proc/sys/kernel/osrelease')
            return (survey.Outcome.SHORT if HCBS in release
                    else survey.Outcome.REFUSED)
        several = any(len(text.split()) > 1
                      for each in (two_files.RUNTIME, two_files.PERIOD)
                      for text in self._values(each))
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
        """The values of all groups that have the file and are still there."""
        found = []
        for group in self._groups:
            try:
                found.append(self.fs.read(posixpath.join(group, name)))
            except OSError as error:
                if not cgroup.is_gone(error):
                    raise
        return found

    @functools.cached_property
    def _groups(self) -> list[str]:
        root = self.hierarchy.mount
        top = sorted(self.fs.children(root), key=lambda path: (
            path.removeprefix(root) not in _FIRST, path))
        below = [group for path in top for group in self.fs.children(path)]
        # On v1 the root is like the others; on v2 it lacks some of the
        # files, and starts with other values.
        return [*top, *below, *([root] if self.version == 1 else ())]


@dataclasses.dataclass(frozen=True, slots=True)
class Detection:
    """The interface, and how sure that is.

    :ivar interface: the one to use, None for none
    :ivar seen: what the kernel looks like, where another one is forced
    :ivar how: what it was told by, for a sentence
    :ivar file: the file to reserve with, '' where none was found
    :ivar trouble: why it cannot be told, '' where it can
    :ivar deadline: vCPU threads are made SCHED_DEADLINE
    """

    interface: base.KernelInterface | None = None
    seen: str = ''
    how: str = ''
    file: str = ''
    trouble: str = ''
    deadline: bool = False

    @property
    def name(self) -> str | None:
        if self.deadline:
            return deadline.NAME
        return self.interface.name if self.interface else None


def find(fs: cgroup.CgroupFS, forced: str | None, machines: bool = False
         ) -> Detection:
    """The interface that nova-compute would likely find.

    :param machines: whether the guests are virtual machines, which need
        none where the kernel has none
    """
    if forced == deadline.NAME:
        return Detection(deadline=True)
    try:
        found = _find(fs, forced)
        none = found.interface is None and not found.file
        if none and machines and survey.hierarchy_of(fs) is not None:
            return Detection(deadline=True)
        return found
    except (exception.KernelError, LookupError, OSError, ValueError,
            ImportError) as error:
        text = exception.clause(error)
        if forced and isinstance(error, LookupError):
            text = f'[nova_rt] kernel_interface is {forced}: {text}'
        return Detection(trouble=text)


def _find(fs: cgroup.CgroupFS, forced: str | None) -> Detection:
    if not detect.known():
        return Detection(trouble='nova-rt is not installed, so that its '
                         'entry points are missing')
    try:
        found = detect.detect(fs, look=PassiveSurvey)
    except exception.KernelError:
        if not forced:
            raise
        found = None  # what it is forced for
    seen = found.name if found else ''
    if forced:
        found = detect.detect(fs, forced, PassiveSurvey)
    hierarchy = survey.hierarchy_of(fs)
    if found is None or hierarchy is None:
        return Detection(file=_root_file(fs, hierarchy))
    how = ('forced by [nova_rt] kernel_interface' if forced
           else _how(fs, found, hierarchy))
    return Detection(found, seen, how, found.file)


def _root_file(fs: cgroup.CgroupFS, hierarchy: cgroup.Hierarchy | None) -> str:
    """The file of the root group, where no other group shows one."""
    if hierarchy is None:
        return ''
    look = survey.Survey(fs, hierarchy)
    files = dict.fromkeys(kind.file for _, kind
                          in sorted(detect.known().items(), reverse=True))
    return next(filter(look.in_root, files), '')


def _how(fs: cgroup.CgroupFS, interface: base.KernelInterface,
         hierarchy: cgroup.Hierarchy) -> str:
    version = survey.Survey(fs, hierarchy).version
    evidence = interface.evidence(version)
    if evidence is base.Evidence.RELEASE:
        release = fs.read('/proc/sys/kernel/osrelease')
        mark = 'has' if HCBS in release else 'lacks'
        return (f'likely, because the release {release} {mark} "{HCBS}"; '
                f'nova-compute makes sure with a scratch group')
    if evidence is base.Evidence.VALUES:
        return (f'likely, by {evidence.value}; nova-compute makes sure with '
                f'a scratch group')
    return f'sure, by {evidence.value}'
