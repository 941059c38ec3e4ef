# SPDX-License-Identifier: Apache-2.0

"""Runs the steps of the demonstration: ``tools/demo.sh`` (--help)."""

import argparse
from collections.abc import Sequence
import os
import pathlib
import re
import subprocess
import sys
import time

from cloud import main as cloud_main

from demo import acts
from demo import client
from demo import full
from demo import guests
from demo import host
from demo import report
from demo import stage
from demo import vdu

# The log has one of these when Placement knows no host.
UNPLACED = ('The server asks for', 'Placement offers no host')
# Placement does not know how much of each pCPU is free, so on some hosts
# RTShareFilter refuses the server.
NO_ROOM = ('The server asks for', 'Placement offers no host|'
           'rt_share_filter .*CPU reservation refused')


def describe(demo: stage.Demo) -> None:
    """Creates a server from a VNF descriptor."""
    with demo.step('vnfd', 'A VNF descriptor with the syntax of the paper'):
        print(f'$ tacker-rt translate {vdu.SAMPLE}', flush=True)
        hot = vdu.translate()
        print(hot, flush=True)
        *flavors, server = vdu.commands(
            hot, demo.kind.image, demo.kind.ram)
        for command in flavors:
            demo.must(command, '-f value -c name')
        demo.must(server, '-f value -c name -c status')
        demo.built()
        demo.measure('idle')
        demo.delete('VDU_A')
        demo.must('flavor delete VDU_A_flavor')


def reserve(demo: stage.Demo) -> None:
    """Creates servers with reservations, and measures their shares."""
    with demo.step('reserve', 'A flavor with a reservation, two servers'):
        demo.must('flavor create flavor_rt1 --vcpus 1 --ram 512',
                  '-f value -c name')
        # "flavor create --property" would exit with 0 without them.
        demo.must('flavor set flavor_rt1 '
                  '--property hw:cpu.rt_runtime_us=100000 '
                  '--property hw:cpu.rt_period_us=200000')
        demo.must('flavor show flavor_rt1', '-f value -c properties')
        demo.create('rt1')
        demo.create('rt2', '--hint cpu.rt_runtime_us=30000 '
                    '--hint cpu.rt_period_us=100000')
        demo.built()
    with demo.step('idle', 'The shares on an idle host'):
        demo.measure('idle')
    with demo.step('noise', 'A noisy neighbour without a reservation'):
        demo.must('flavor create noisy --vcpus 2 --ram 256',
                  '-f value -c name')
        demo.create('noisy', command='server create --flavor noisy '
                    f'--image {demo.kind.image} --nic none')
        demo.built()
        demo.measure('noise')
    with demo.step('hint', "The paper's hint: 120 ms instead of 100"):
        demo.delete('rt1')
        demo.create('rt3', '--hint cpu.rt_runtime_us=120000')
        demo.built()
        demo.measure('noise')


def share_a_cpu(demo: stage.Demo) -> None:
    """Puts three servers on one pCPU, one of them hostile."""
    with demo.step('company', 'Three servers on one pCPU, one is hostile'):
        demo.delete('rt2', 'rt3')
        names = ('short', 'long', 'hostile')
        for name, (runtime_us, period_us) in zip(
                names, demo.kind.company, strict=True):
            demo.create(name, f'--hint cpu.rt_runtime_us={runtime_us} '
                        f'--hint cpu.rt_period_us={period_us}',
                        demo.hostile if name == 'hostile' else '')
        demo.built()
        demo.measure('hostile')
        demo.on_one_pcpu(*names)
        demo.must('server delete noisy')


def refuse(demo: stage.Demo) -> None:
    """Shows which requests are refused."""
    with demo.step('no_room', 'One more server, which does not fit'):
        with demo.filled():
            demo.no_room('rt4', *NO_ROOM)
    if demo.report.is_first_act:
        refuse_any_guest(demo)


def refuse_any_guest(demo: stage.Demo) -> None:
    """Shows requests that are refused whatever the kind of guests is."""
    with demo.step('bad_input', 'Invalid reservations are refused at once'):
        demo.bad('flavor set flavor_rt1 '
                 '--property hw:cpu.rt_runtime_us=100ms')
        demo.bad('flavor set flavor_rt1 '
                 '--property hw:cpu.rt_runtime_us=300000')
        demo.bad('flavor set flavor_rt1 --property hw:cpu_policy=dedicated')
        for hint in ('cpu.rt_runtime_us=abc', 'cpu.rt_runtime_us=-5',
                     'cpu.rt_runtime_us=300000', 'cpu.rt_runtime=5'):
            demo.bad(f'{demo.reserved} --hint {hint} rt5')
    with demo.step('unavailable', 'A host that accepts no reservations'):
        demo.restart_nova('nova_rt.hcbs_scheduler_available=false')
        demo.no_room('rt6', *UNPLACED, 'CPU reservations: none on this host')
        for server in host.servers(demo.cloud):
            if server.claim:
                print(f'  {server.name} keeps {server.kernel}')


def check(demo: stage.Demo) -> None:
    """Checks that claims, Placement and kernel agree."""
    print('$ nova-rt-manage --config-file .cloud/etc/nova/nova.conf '
          'check --kernel', flush=True)
    done = subprocess.run(
        [f'{sys.prefix}/bin/nova-rt-manage', '--config-file',
         demo.cloud.nova_conf, 'check', '--kernel'], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**demo.cloud.environment(), 'PYTHONWARNINGS': 'ignore'})
    print(done.stdout.strip(), flush=True)
    if done.returncode:
        demo.report.problem('nova-rt-manage finds differences')


def clean_up(demo: stage.Demo) -> None:
    """Deletes all servers, and checks that nothing is left."""
    with demo.step('check', 'Claims, Placement and kernel agree'):
        check(demo)
    with demo.step('delete', 'All servers are deleted, and nothing is left'):
        demo.delete(*(server.name for server in host.servers(demo.cloud)))
        demo.must('flavor delete flavor_rt1 noisy')
        usage = client.run('resource provider list -f value -c uuid').text
        shown = demo.openstack(
            f'resource provider usage show {usage.split()[0]}',
            '-f value -c resource_class -c usage').text
        used = re.findall(r'CUSTOM_RT_\w+ (\d+)', shown)
        if not used:
            demo.report.problem('Placement shows no reservations')
        demo.report.leftovers(
            claims=host.charged(demo.cloud),
            allocations=sum(map(int, used)),
            budgets=host.budgets())
        check(demo)


def bring_up(demo: stage.Demo, is_full: bool) -> None:
    """Starts the cloud of the act."""
    parts = ('MariaDB, RabbitMQ, Keystone, Placement, Glance, Neutron, Heat, '
             'Tacker, Nova with two computes' if is_full else
             'Keystone, Placement, Glance, Neutron, Nova, libvirt')
    # Servers go to pCPUs with other servers, as long as there is room.
    arguments = ['up', *(['--full'] if is_full else [
        '--guest', demo.act.guest,
        '--set', 'nova_rt.packing_policy=best_fit',
        *(['--set', f'nova_rt.kernel_interface={demo.act.interface}']
          if demo.act.interface else [])])]
    with demo.step('cloud', f'The cloud: {parts}'):
        print(f'$ tools/cloud.sh {" ".join(arguments)}', flush=True)
        if cloud_main.main(arguments):
            raise SystemExit('the cloud did not come up')


def run(demo: stage.Demo) -> None:
    """Runs all steps of an act."""
    client.environment()
    client.warm_up()
    describe(demo)
    reserve(demo)
    share_a_cpu(demo)
    refuse(demo)
    clean_up(demo)


def perform(act: acts.Act, demo_report: report.Report,
            options: argparse.Namespace) -> None:
    """Performs one act, on a cloud of its own."""
    print(f'\n==== {act.title}', flush=True)
    demo_report.begin(act)
    demo = stage.Demo(act, demo_report)
    # "up" itself removes a cloud that it cannot start, but not another cloud.
    bring_up(demo, options.full)
    try:
        (full.run if options.full else run)(demo)
    finally:
        if not options.keep:
            print('\n$ tools/cloud.sh down', flush=True)
            cloud_main.main(['down', '--keep-logs'])


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog='demo.sh', description=__doc__)
    group = parser.add_mutually_exclusive_group()
    group.add_argument('--guest', choices=guests.KINDS,
                       help='show only virtual machines or only containers '
                       '(default: qemu, then lxc)')
    group.add_argument('--full', action='store_true',
                       help='show a VNF package, through Tacker and Heat')
    parser.add_argument('--interface', metavar='NAME',
                        help='with --guest: [nova_rt] kernel_interface '
                        '(default: sched_deadline for virtual machines, what '
                        'the kernel has for containers)')
    parser.add_argument('--tolerance', type=float, default=report.TOLERANCE,
                        metavar='SHARE', help='how far a share may be off, in '
                        'CPUs (default: %(default)s)')
    parser.add_argument('--report', type=pathlib.Path, metavar='FILE',
                        help='write the results to this file as JSON')
    parser.add_argument('--keep', action='store_true',
                        help='with --guest or --full: leave the cloud up')
    options = parser.parse_args(arguments)
    if options.interface and not options.guest:
        parser.error(f'--interface {options.interface} needs --guest: each '
                     'kind of guest has interfaces of its own')
    if options.keep and not (options.guest or options.full):
        parser.error('--keep needs --guest or --full: only one cloud can be '
                     'left up, but this command starts two')
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demonstration, and returns the exit status."""
    options = parse(arguments)
    started = float(os.environ.get('DEMO_STARTED', time.time()))
    results = report.Report(options.tolerance)
    guest = 'lxc' if options.full else options.guest
    for act in acts.chosen(guest, options.interface):
        if not (reason := act.cannot_be):
            perform(act, results, options)
        elif guest:
            raise SystemExit(f'demo.sh: {reason}')
        else:
            results.skip(act, reason)
    results.close(time.time() - started)
    if options.report:
        results.write(options.report)
    return int(results.failed)


if __name__ == '__main__':
    sys.exit(main())
