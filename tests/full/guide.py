# SPDX-License-Identifier: Apache-2.0

"""The commands of the installation guide, and what a test does with each.

The test runs in a tree of Debian with packages of Nova, in which no service
runs: no database, no libvirtd, no kernel that the guide may change.
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
    'openstack': 'needs a cloud, which tests/cloud has',
    'chrt': 'needs a running server, which tests/cloud has',
    'nova-rt-manage': 'needs the databases of Nova',
    'apt-get': 'the tree has the package',
    "pip install './": 'the page about Debian replaces it',
}
#: Commands that may end with a status of their own: 2 is for problems of the
#: host, which has no libvirtd here.
_MAY_FAIL = ('nova-rt doctor',)
_WHEEL = re.compile(r'\./nova_rt-.*\.whl')
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


def _steps(page: str, wheel: str) -> Iterator[str]:
    for command in commands(page):
        if why_left_out(command) is None:
            yield _WHEEL.sub(f'./{wheel}', command) + (
                ' || [ $? -le 2 ]' if command.startswith(_MAY_FAIL) else '')


def _files() -> Iterator[str]:
    """Yields commands that append the configuration of the guide."""
    for block in recipes.blocks('index', 'ini'):
        if block.startswith('[filter_scheduler]'):
            filters = ('$(python3 -c "import nova.conf; print(\',\'.join('
                       'nova.conf.CONF.filter_scheduler.enabled_filters))")')
            yield _append(_NOVA, block.replace('<the filters you have>',
                                               filters))
        elif block.startswith(('[DEFAULT]', '[nova_rt_privileged]')):
            yield _append(_COMPUTE, block)


def _append(path: str, text: str) -> str:
    return f'cat >> {path} <<END\n\n{text}END'
