# SPDX-License-Identifier: Apache-2.0

"""The commands of the installation guide, and what a test does with each.

The commands run in a tree of Debian with packages of Nova.  script() is for a
tree in which no service runs: no database, no libvirtd, no kernel that the
guide may change.  walk() is for a tree in which the packaged services run.
"""

from collections.abc import Iterator
import re

from tests import recipes

#: Commands that the test leaves out, by their first words.
LEFT_OUT = {
    'sysctl kernel.sched_rt': 'prints values of the running kernel',
    'echo 0 > /sys/module/kvm': 'changes the running kernel',
    'nova-rt-status': 'needs the databases of Nova',
    "grep 'CPU reservations:'": 'needs a running nova-compute',
    'openstack': 'needs a cloud, which the other walk has',
    'chrt': 'needs a running server, which the other walk has',
    'systemctl': 'needs services, which the other walk has',
    "sed -i '/nova_rt/d": 'removes nova-rt, as the other walk does',
    "sed -i 's/ nova_rt /": 'removes nova-rt, as the other walk does',
    "sed -i 's/nova_rt.RT": 'removes nova-rt, as the other walk does',
    'pip uninstall': 'removes nova-rt, as the other walk does',
    'nova-rt-manage': 'needs the databases of Nova',
    'apt-get': 'the tree has the package',
    "pip install './": 'the page about Debian replaces it',
}
#: Commands that may end with a status of their own: 2 is for problems of the
#: host, which has no libvirtd here.
_MAY_FAIL = ('nova-rt doctor',)
_WHEEL = re.compile(r'\./nova_rt-.*\.whl')
#: What stands for something of the reader's cloud, and what the walk has.
_OWN = (
    (re.compile('list [0-9a-f-]{36}'),
     'list "$(openstack resource provider list -f value -c uuid)"'),
    (re.compile('--image IMAGE --network NETWORK'),
     '--image kvm-busy --no-network'),
)
_NOVA, _COMPUTE = '/etc/nova/nova.conf', '/etc/nova/nova-compute.conf'


def commands(page: str) -> list[str]:
    """Returns the commands of a page, in order, without their prompts."""
    text = '\n'.join(recipes.blocks(page, 'console')).replace('\\\n', '')
    return [line[2:] for line in text.splitlines()
            if line.startswith(('# ', '$ '))]


def why_left_out(command: str) -> str | None:
    """Returns why the test does not run a command; None if it does."""
    return next((why for begin, why in LEFT_OUT.items()
                 if command.startswith(begin)), None)


def script(wheel: str) -> str:
    """Returns a script of bash that follows the guide, for Debian.

    :param wheel: file name of the wheel in the current directory
    """
    return '\n'.join(
        [*_steps('debian', wheel), *_steps('index', wheel), *_files()]) + '\n'


def walk(wheel: str) -> dict[str, str]:
    """Returns scripts of bash: install, check, server and remove.

    :param wheel: file name of the wheel in the current directory
    """
    debian = list(_all('debian', wheel))
    restart, remove = (number for number, each in enumerate(debian)
                       if each.startswith(('systemctl', "sed -i '/nova_rt/d")
                                          ) and number < len(debian) - 1)
    doctor = next(number for number, each in enumerate(debian)
                  if each.startswith('nova-rt doctor'))
    compared = [each for each in debian if each.startswith('nova-rt-manage')]
    server = [each for each in _all('index', wheel) if each.startswith(
        ("grep 'CPU reservations:'", 'openstack', 'chrt'))]
    parts = {'install': [*debian[1:doctor], *_files(privileged=False)],
             'check': debian[doctor:restart + 1],
             'server': [*server, *compared], 'remove': debian[remove:]}
    return {name: '\n'.join(part) + '\n' for name, part in parts.items()}


def _all(page: str, wheel: str) -> Iterator[str]:
    """Yields all commands of a page as the walk runs them."""
    for command in commands(page):
        for pattern, own in (*_OWN, (_WHEEL, f'./{wheel}')):
            command = pattern.sub(own, command)
        # Before the first start of nova-compute, the check warns.
        yield command + (
            ' || [ $? -le 2 ]' if command.startswith(_MAY_FAIL) else
            ' || [ $? = 1 ]' if command.startswith('nova-rt-status') else '')


def _steps(page: str, wheel: str) -> Iterator[str]:
    for command in commands(page):
        if why_left_out(command) is None:
            yield _WHEEL.sub(f'./{wheel}', command) + (
                ' || [ $? -le 2 ]' if command.startswith(_MAY_FAIL) else '')


def _files(*, privileged: bool = True) -> Iterator[str]:
    """Yields commands that append the configuration of the guide.

    :param privileged: with the option that replaces sudo privsep-helper
    """
    for block in recipes.blocks('index', 'ini'):
        if block.startswith('[filter_scheduler]'):
            filters = ('$(python3 -c "import nova.conf; print(\',\'.join('
                       'nova.conf.CONF.filter_scheduler.enabled_filters))")')
            yield _append(_NOVA, block.replace('<the filters you have>',
                                               filters))
        elif block.startswith('[DEFAULT]') or (
                privileged and block.startswith('[nova_rt_privileged]')):
            yield _append(_COMPUTE, block)
        elif not privileged and 'kernel_interface =' in block:
            # The kernel of the test may have budgets for groups.
            yield _append(_COMPUTE, block)


def _append(path: str, text: str) -> str:
    return f'cat >> {path} <<END\n\n{text}END'
