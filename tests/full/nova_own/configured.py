# SPDX-License-Identifier: Apache-2.0

"""Configures Nova for its own tests as an operator configures Nova.

Nova's tests choose filters, weighers and drivers of their own.  These choices
stay, and the plugin is added as ``etc/nova-rt.conf`` says.  Kernels are
emulated, so that each fake host offers reservations.
"""

from collections.abc import Callable
import functools
import os
import sys
from typing import Any

import libvirt
from nova import test
from nova.tests import fixtures as nova_fixtures
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional import fixtures as placement
from nova.tests.functional import integrated_helpers

from nova_rt.machine.host import namespaces
from nova_rt.machine import privsep
from nova_rt.rules import hostmap
from nova_rt.services import selfcheck
from nova_rt.services.virt.libvirt import driver
from tests.emulation import kernels

_PASTE = os.path.join(sys.prefix, 'etc', 'nova', 'api-paste.ini')
_APP = 'osapi_compute_app_v21\n'
_KERNEL = 'F2m'
#: as many CPUs as the fake hosts have at most
_CPUS = 16
#: The values that options of [filter_scheduler] get beside their own values.
_ADDED = {
    'available_filters': 'nova_rt.scheduler.filters.RTShareFilter',
    'enabled_filters': 'RTShareFilter',
    'weight_classes': 'nova_rt.scheduler.weights.RTShareWeigher',
}
_PATIENCE = 20
_DRIVERS = {'libvirt.LibvirtDriver': 'nova_rt.RTLibvirtDriver'}


def nova(folder: str, plugin: bool) -> None:
    """Prepares this process for Nova's tests, once and for all.

    :param folder: where api-paste.ini is written
    :param plugin: whether Nova has the plugin
    """
    with open(_PASTE) as source:
        text = source.read()
    if plugin:
        text = text.replace(_APP, 'nova_rt ' + _APP) + (
            '\n[filter:nova_rt]\nuse = egg:nova-rt#reservation_hints\n')
        _emulate()
        _around(test.TestCase, 'flags', _flags)
        _around(placement.PlacementApiClient, 'get', _answer)
    path = os.path.join(folder, 'api-paste.ini')
    with open(path, 'w') as target:
        target.write(text)
    _around(integrated_helpers.InstanceHelperMixin,
            '_wait_for_server_parameter', _patient)
    _around(nova_fixtures.ConfFixture, 'setUp',
            functools.partial(_defaults, path, plugin))


def _around(owner: Any, name: str, new: Callable[..., Any]) -> None:
    """Replaces a method by *new*, whose first argument is the method."""
    old = getattr(owner, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return new(functools.partial(old, self), self, *args, **kwargs)
    setattr(owner, name, method)


def _patient(old: Callable[..., Any], case: Any, server: Any,
             expected_params: Any, max_retries: int = 10,
             **kwargs: Any) -> Any:
    """Waits longer than Nova's tests, whose five seconds are too short."""
    return old(server, expected_params, max_retries=_PATIENCE * max_retries,
               **kwargs)


def _defaults(paste: str, plugin: bool, old: Callable[[], None],
              fixture: Any) -> None:
    old()
    # A wheel has the file elsewhere than a checkout.
    fixture.conf.set_default('api_paste_config', paste, group='wsgi')
    if plugin:
        for name, value in _ADDED.items():
            fixture.conf.set_default(
                name, [*fixture.conf.filter_scheduler[name], value],
                group='filter_scheduler')


def _flags(old: Callable[..., None], case: Any, **options: Any) -> None:
    for name in _ADDED.keys() & options.keys():
        if _ADDED[name] not in options[name]:
            options[name] = [*options[name], _ADDED[name]]
    name = options.get('compute_driver')
    if name in _DRIVERS:
        options['compute_driver'] = _DRIVERS[name]
    old(**options)


def _answer(old: Callable[..., Any], client: Any, *args: Any,
            **kwargs: Any) -> Any:
    """Placement, which leaves out our classes at 0 when it reports usages.

    Nova's tests list all that is used of a provider, and an empty class would
    be one more.
    """
    found = old(*args, **kwargs)
    usages = getattr(found, 'body', None) or {}
    usages = usages.get('usages') if isinstance(usages, dict) else None
    if isinstance(usages, dict):
        for name in hostmap.CLASSES:
            if usages.get(name) == 0:
                del usages[name]
    return found


def _emulate() -> None:
    # Nova's tests replace methods that the driver's check reads.
    verify = selfcheck.verify
    verify()
    selfcheck.verify = lambda tested=(): verify(tested)
    privsep.cgroup_pctxt.client_mode = False
    namespaces.trouble = lambda host: ''
    driver.RTLibvirtDriver._rt_files = (
        lambda self: kernels.KERNELS[_KERNEL](_CPUS))
    # A method that every libvirt has, but not the libvirt of Nova's tests.
    fakelibvirt.Domain.metadata = _metadata


def _metadata(domain: Any, kind: int, uri: str, flags: int) -> str:
    """Returns the metadata of a guest without marks."""
    raise libvirt.libvirtError('it has no such metadata')
