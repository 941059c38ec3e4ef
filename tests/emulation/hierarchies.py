# SPDX-License-Identifier: Apache-2.0

"""The files of cgroups themselves and of cpuset, v1 and v2."""

import errno

from tests.emulation import cpusets
from tests.emulation import groups
from tests.emulation import numbers
from tests.emulation import paths
from tests.emulation import state
from tests.emulation import unified

Task = groups.Task
Group = groups.Group

_KTHREADD = 2


class Hierarchies(state.State):
    """The effects of reads and writes of these files."""

    def _show_core(self, key: str, group: Group, name: str, path: str
                   ) -> str:
        if name in (paths.TASKS, paths.THREADS):
            return _lines(self.inside(group, key))
        if name == paths.PROCS:
            return _lines(self._processes(key, group, path))
        if name == paths.CPUS:
            return numbers.cpu_text(group.cpus) + '\n'
        if name == paths.EFFECTIVE:
            return numbers.cpu_text(cpusets.effective(group)) + '\n'
        if name == paths.TYPE:
            return unified.kind(group, self._occupied) + '\n'
        if name == paths.EVENTS:
            return f'populated {self._is_populated(group):d}\nfrozen 0\n'
        if name == paths.STAT:
            return f'nr_dying_subsys_cpu {group.dying}\n'
        given = (unified.controllers(group) if name == paths.CONTROLLERS
                 else [each for each in unified.CONTROLLERS
                       if each in group.subtree])
        return ' '.join(given) + '\n'

    def _is_populated(self, group: Group) -> bool:
        return any(each.ending or self._occupied(each)
                   for each in group.walk())

    def _write_core(self, key: str, group: Group, name: str, data: str,
                    path: str) -> None:
        if name == paths.CPUS:
            self._set_cpus(key, group, numbers.cpu_set(data, path), path)
        elif name == paths.SUBTREE:
            self._set_subtree(group, data, path)
        elif name == paths.TYPE:
            self._set_type(group, data, path)
        elif name in (paths.TASKS, paths.THREADS, paths.PROCS):
            self._attach(numbers.signed(data, path), key, group,
                         name == paths.PROCS, path)
        else:
            raise numbers.refusal(errno.EACCES, path)

    def _set_cpus(self, key: str, group: Group, cpus: frozenset[int],
                  path: str) -> None:
        root = self._trees[key]['/']
        if self.hung:
            self.die('a lock was never released: cpuset writes hang')
        if self.version == 1:
            cpusets.vet_v1(group, root, cpus, lambda each: bool(
                self.inside(each, key)), path)
        else:
            cpusets.vet_v2(self.cpus, cpus, path)
        if cpus != group.cpus:
            self.admit_cpus(group, path)
        group.cpus = cpus

    def _set_type(self, group: Group, data: str, path: str) -> None:
        if data.strip() != 'threaded':
            raise numbers.refusal(errno.EINVAL, path)
        if not group.threaded:
            unified.vet_threaded(group, self._occupied, path)
            group.threaded = True

    def _set_subtree(self, group: Group, data: str, path: str) -> None:
        enable, disable = unified.parse(group, data, path)
        if enable:
            unified.vet_enable(group, self._occupied, path)
        if 'cpu' in enable:
            self._hand_down(group, path)
        if 'cpu' in disable:
            self._take_away(group, path)
        if 'cpuset' in disable:
            for child in group.alive:
                child.cpus = frozenset()
        group.subtree |= enable
        group.subtree -= disable

    def _hand_down(self, group: Group, path: str) -> None:
        """Does +cpu: the tasks below come into groups with new budgets."""
        fresh = self.new_budget()
        for child in group.alive:
            for each in child.walk():
                for task in self._real_time(each):
                    self.admit_new(task, fresh, path)
        for child in group.alive:
            child.budget = fresh

    def _take_away(self, group: Group, path: str) -> None:
        """Does -cpu: the budgets are gone, with the usual delay."""
        for child in group.alive:
            for each in child.walk():
                for task in self._real_time(each):
                    self.admit_attach(task, group, path)
        for child in group.alive:
            group.children.append(Group(
                child.name, group, child.budget,
                dead_since=self.clock.now))
            child.budget = None

    def _processes(self, key: str, group: Group, path: str) -> list[int]:
        where = [group]
        if not key:
            if group.threaded:
                raise numbers.refusal(errno.EOPNOTSUPP, path)
            where = [each for each in group.walk()
                     if unified.domain(each) is group]
        return sorted({self.tasks[thread].process for each in where
                       for thread in self.inside(each, key)})

    def _attach(self, thread: int, key: str, group: Group, whole: bool,
                path: str) -> None:
        """Moves all of the threads, or none."""
        task = self._task(thread)
        if task.process == _KTHREADD:
            raise numbers.refusal(errno.EINVAL, path)
        moving = self.threads_of(task.process) if whole else [task]
        for each in moving:
            self._vet_attach(each, key, group, whole, path)
        for each in moving:
            if key != 'cpuset' and self.context(group) is not self.context(
                    self.group_of(each)):
                self._leave(each)
            each.groups[key] = group.name

    def _vet_attach(self, task: Task, key: str, group: Group, whole: bool,
                    path: str) -> None:
        if key == 'cpuset':
            if not group.cpus:
                raise numbers.refusal(errno.ENOSPC, path)
            return
        source = self.group_of(task)
        if not key:
            unified.vet_move(group, source, whole, self._occupied, path)
        target = self.cpu_group(group)
        if self.is_real_time(task) and target is not self.cpu_group(source):
            self.admit_attach(task, target, path)


def _lines(numbers_: list[int]) -> str:
    return ''.join(f'{number}\n' for number in numbers_)
