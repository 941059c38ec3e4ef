# SPDX-License-Identifier: Apache-2.0

"""A host for each kernel interface, with one reserved container."""

from tests.unit.rt_operate.doctor import base

#: ``lxc-7`` has its tasks 70 (the keeper) and 71 (its init).
TASKS = '70\n71'


def _unified(release: str, *groups: base.Files) -> base.Files:
    files = {**base.MAINLINE, '/proc/sys/kernel/osrelease': release}
    for group in groups:
        files.update(group)
    return {**files, **_guest(True)}


def _guest(v2: bool) -> base.Files:
    return {
        **base.process(70, 'libvirt_lxc', base.LXC, v2=v2),
        **base.process(71, 'init', base.LXC, 2, 10, parent=70, v2=v2)}


def _two(group: str, runtime: str, period: str = '1000000', tasks: str = '',
         multi: str | None = None) -> base.Files:
    return base.put(group, base.V2, tasks, runtime=runtime, period=period,
                    multi=multi)


def _max(group: str, value: str, mark: str, tasks: str = '') -> base.Files:
    mine = {mark: '0 runtime=0 period=0\n1 runtime=0 period=0'}
    return base.put(group, base.V2, tasks, max=value, cpus='0-1',
                    **({} if group == '/' else mine))


F1 = {**base.F1, **base.f1_group('/machine', 300_000),
      **base.f1_group(base.LXC, 30_000, 100_000, TASKS), **_guest(False)}
F2 = {**F1, '/proc/sys/kernel/osrelease': '5.8.0-hcbs'}
F2_V2 = _unified(
    '5.8.0-hcbs', _two('/', '950000'), _two('/system.slice', '0'),
    _two('/machine', '300000'), _two(base.LXC, '30000', '100000', TASKS))
F2M = _unified(
    '6.13.0', _two('/', '950000', multi='950000 950000'),
    _two('/system.slice', '0', multi='0 0'),
    _two('/machine', '150000', multi='300000 0'),
    _two(base.LXC, '15000', '100000', TASKS, '30000 2'))
F3 = _unified(
    '6.16.0', _two('/', '900000'), _two('/machine', '300000'),
    _two(base.LXC, '30000', '100000', TASKS), _two('/system.slice', '0', '0'))
F3M = _unified(
    '7.0.0-rc4', _two('/', '900000'), _two('/machine', '300000 0'),
    _two(base.LXC, '30000 0', '100000 100000', TASKS),
    _two('/system.slice', '0', '0'))
F4 = _unified(
    '7.1.0', _max('/', '900000 1000000', 'internal'),
    _max('/machine', '300000 1000000', 'internal'),
    _max(base.LXC, '30000 100000', 'internal', TASKS),
    _max('/system.slice', 'max 0', 'internal'))
F5 = _unified(
    '7.3.0-rc2', _max('/', '900000 1000000', 'local'),
    _max('/machine', '300000 1000000', 'local'),
    {**_max(base.LXC, '30000 100000', 'local', TASKS),
     f'{base.V2}{base.LXC}/cpu.rt.max.effective.local':
     '0 runtime=30000 period=100000\n1 runtime=0 period=100000',
     f'{base.V2}{base.LXC}/cpuset.cpus.effective': '0'},
    _max('/system.slice', 'max 0', 'local'))

ALL = {'rt_group_sched': F1, 'hcbs': F2, 'hcbs_multi': F2M, 'hcbs_rfc': F3,
       'hcbs_rfc_multi': F3M, 'rt_max': F4, 'rt_max_cpuset': F5}
HCBS = {name: files for name, files in ALL.items()
        if name != 'rt_group_sched'}
