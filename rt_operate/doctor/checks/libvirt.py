# SPDX-License-Identifier: Apache-2.0

"""Checks in which groups libvirt and systemd put guests and tasks."""

from collections.abc import Iterator
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import survey
from nova_rt.rules import words
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_PID_1 = '/proc/1/comm'


def layout(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that all guests are below one group."""
    if view.groups is None or view.hierarchy is None:
        return
    name = 'libvirt.layout'
    partitions = [path for path in cgroup.GUEST_GROUPS
                  if path in view.groups.all]
    if len(partitions) > 1:
        yield findings.warning(
            name, f'Both groups {" and ".join(partitions)} exist: guests in '
            f'the second group do not count as servers.',
            'Remove the group without guests; there are two because the host '
            'ran both with and without systemd-machined.')
        return
    where = view.groups.partition
    state = '' if partitions else ', once the first guest starts'
    if any(posixpath.basename(guest.domain) == 'libvirt'
           for guest in view.guests):
        state += ', in the group libvirt of their scope'
    yield findings.ok(
        name, f'Guests are below {where}{state}{_joint(view, view.hierarchy)}'
              f'.')


def guests(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that all guests are below the group of the servers."""
    name = 'libvirt.guests'
    if view.groups is None:
        return
    prefix = view.groups.partition + '/'
    outside = [guest for guest in view.guests
               if not guest.group.startswith(prefix)]
    if outside:
        yield findings.warning(
            name, f'Guests run outside of {view.groups.partition}: '
            f'{findings.first_few([guest.group for guest in outside])}.',
            'Remove <resource><partition> from the definitions of these '
            'guests, or give them no reservation.')
    elif not view.guests:
        yield findings.ok(name, 'No guest runs.')
    else:
        text = findings.first_few([
            f'{guest} ({"container" if guest.container else "machine"})'
            for guest in view.guests])
        yield findings.ok(
            name, f'{words.count(len(view.guests), "guest")} '
            f'{"runs" if len(view.guests) == 1 else "run"}: {text}.')


def systemd(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows whether systemd may remove and recreate groups."""
    name = 'systemd.present'
    first = view.host.read(_PID_1)
    if first == 'systemd':
        yield findings.ok(
            name, 'PID 1 is systemd, which gives groups no budget: a group '
            'that systemd creates again has no budget until the next audit of '
            'nova-compute.')
    else:
        yield findings.ok(
            name, f'PID 1 is {first}, not systemd: no other program creates '
            f'groups again.')


def controller(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that groups can have the cpu controller.

    On HCBS kernels with two files, ``+cpu`` fails while a real-time task is
    outside of the root group.
    """
    if (view.interface is None or view.hierarchy is None
            or view.hierarchy.controller or view.interface.inherits):
        return
    name = 'systemd.cpu_controller'
    if _handed_on(view.host, view.hierarchy):
        yield findings.ok(name, 'The cpu controller is enabled for groups.')
        return
    outside = [task for task in view.tasks.real_time
               if view.group_of(task).strip('/')]
    if outside:
        text = findings.first_few([f'{task} in {view.group_of(task)}'
                                   for task in outside])
        yield findings.problem(
            name, f'The cpu controller cannot be enabled for groups (EINVAL) '
            f'while real-time tasks are outside of the root group: {text}.',
            'Stop the services of these tasks or move the tasks to the root '
            'group, then start nova-compute.')
    else:
        yield findings.ok(
            name, 'The cpu controller is not yet enabled for groups; '
            'nova-compute or libvirt will enable it.')


def _handed_on(host: host_files.Host, hierarchy: cgroup.Hierarchy) -> bool:
    path = f'{hierarchy.mount.rstrip("/")}/{survey.SUBTREE}'
    return 'cpu' in (host.optional(path) or '').split()


def _joint(view: doctor_view.View, hierarchy: cgroup.Hierarchy) -> str:
    options = next((options for point, _, options in view.host.mounts()
                    if point == hierarchy.mount), '')
    if hierarchy.controller and 'cpuacct' in options.split(','):
        return ' (cpu and cpuacct are mounted together)'
    return ''


CHECKS: dict[str, doctor_view.Check] = {
    'libvirt.layout': layout,
    'libvirt.guests': guests,
    'systemd.present': systemd,
    'systemd.cpu_controller': controller,
}
