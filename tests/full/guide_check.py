# SPDX-License-Identifier: Apache-2.0

"""Asks a packaged Nova what it loads, and prints the answers as JSON.

Runs with the Python of a Debian system, after the installation guide.
"""

import json
import shlex
import subprocess
from typing import Any

from nova import conf as nova_conf
from nova import config
from nova.scheduler import filters
from nova.scheduler import weights
from nova.virt import driver
import os_vif
from oslo_rootwrap import wrapper
from paste import deploy

from nova_rt.services import selfcheck

_PASTE = 'config:/etc/nova/api-paste.ini'
#: How oslo.privsep ends the command of [nova_rt_privileged].
_CONTEXT = ['--privsep_context', 'nova_rt.privsep.cgroup_pctxt',
            '--privsep_sock_path', '/tmp/x/privsep.sock']  # noqa: S108


def main() -> None:
    """Prints what nova-compute, nova-scheduler and nova-api load."""
    arguments = subprocess.run(
        ['/etc/init.d/nova-compute', 'show-args'], text=True,
        capture_output=True, check=True).stdout.split()
    files = [each for each in arguments if each.startswith('--config-file')]
    config.parse_args(['nova-compute', *files], configure_db=False,
                      init_rpc=False)
    selfcheck.verify()
    selfcheck.verify(selfcheck.TESTED_BY_SCHEDULER)
    selfcheck.verify(selfcheck.TESTED_BY_API)
    print(json.dumps({**_scheduler(), **_api(), 'driver': _driver(),
                      'files': files, 'rootwrap': _rootwrap()}))


def _driver() -> str:
    os_vif.initialize()
    return type(driver.load_compute_driver(None)).__module__


def _scheduler() -> dict[str, Any]:
    conf = nova_conf.CONF.filter_scheduler
    known = filters.HostFilterHandler().get_matching_classes(
        conf.available_filters)
    weighers = weights.HostWeightHandler().get_matching_classes(
        conf.weight_classes)
    names = {each.__name__ for each in known}
    return {'enabled': conf.enabled_filters,
            'unknown': sorted(set(conf.enabled_filters) - names),
            'weighers': sorted(each.__name__ for each in weighers
                               if each.__module__.startswith('nova_rt')
                               or each.__module__.startswith('rt_'))}


def _api() -> dict[str, Any]:
    wrap = deploy.loadfilter(_PASTE, name='nova_rt')
    return {'middleware': type(wrap(None)).__name__, 'pipelines': [
        deploy.appconfig(_PASTE, name=f'openstack_compute_api_{name}')[
            'keystone'].split()
        for name in ('v21', 'v21_legacy_v2_compatible')]}


def _rootwrap() -> str:
    """Returns the user as whom rootwrap starts the privileged process."""
    command = shlex.split(
        nova_conf.CONF.nova_rt_privileged.helper_command)
    known = wrapper.load_filters(['/etc/nova/rootwrap.d'])
    found = wrapper.match_filter(known, command[3:] + _CONTEXT,
                                 ['/usr/bin'])
    return str(found.run_as)


if __name__ == '__main__':
    main()
