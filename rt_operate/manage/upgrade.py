# SPDX-License-Identifier: Apache-2.0

"""The checks of ``nova-rt-status upgrade check``.

Of the configuration of the host it runs on, and of the whole cloud: run it
on each host before nova-rt, or a new version of it, is used there.
"""

from collections.abc import Callable, Sequence
import functools
import importlib.metadata
import pathlib

import nova.conf
from nova import context as nova_context
from oslo_upgradecheck import upgradecheck
from oslo_utils import importutils

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.services import install
from nova_rt.services import selfcheck
from rt_models.weighers import matrices
from rt_operate.manage import command
from rt_operate.manage import errors
from rt_operate.manage import paste
from rt_operate.manage.read import load
from rt_operate.manage.read import older
from rt_operate.manage.read import placement
from rt_operate.manage import report
from rt_operate.manage import snapshot

CONF = nova.conf.CONF

_DRIVER = 'nova_rt.RTLibvirtDriver'
_FILTER = 'RTShareFilter'
_MODULE = 'nova_rt.scheduler.filters'
_WEIGHER = 'nova_rt.scheduler.weights.RTInterferenceWeigher'
#: Named in a sentence; the rest are counted.
_NAMED = 5

Result = upgradecheck.Result
Code = upgradecheck.Code


_Check = Callable[['Checks'], Result]


def _with_database(check: _Check) -> _Check:
    """Hosts with nova-compute alone have none; one that has tells of all."""
    @functools.wraps(check)
    def checked(self: 'Checks') -> Result:
        if CONF.api_database.connection is None:
            return Result(Code.WARNING, 'Not checked: no database is '
                          'configured here; run this on a host of nova-api, '
                          'which checks it for all hosts.')
        return check(self)
    return checked


def _guarded(check: _Check) -> _Check:
    """What cannot be checked is a failure with a sentence."""
    @functools.wraps(check)
    def guarded(self: 'Checks') -> Result:
        try:
            return check(self)
        except errors.ERRORS as error:
            return Result(Code.FAILURE, f'Could not be checked: '
                                        f'{errors.sentence(error)}.')
    return guarded


class Checks(upgradecheck.UpgradeCommands):
    """In the order in which they are shown."""

    @_guarded
    def _nova(self) -> Result:
        version = importlib.metadata.version('nova')
        try:
            selfcheck.verify()
        except exception.UnsupportedNova as error:
            return Result(Code.FAILURE, f'Nova {version}: {error}')
        return Result(Code.SUCCESS, f'Nova {version} has what is used of it.')

    @_guarded
    def _driver(self) -> Result:
        found = CONF.compute_driver
        if found != _DRIVER:
            return Result(
                Code.WARNING if found else Code.SUCCESS,
                f'compute_driver is {found}: if this host runs nova-compute, '
                f'it offers no CPU reservations; set it to {_DRIVER}.')
        names = [entry.name for entry
                 in importlib.metadata.entry_points(group='os_vif')]
        if 'nova_rt' not in names:
            return Result(
                Code.FAILURE, 'The entry point os_vif:nova_rt, by which '
                'nova-compute finds the driver, is missing: install nova-rt '
                'for the Python of Nova, or run nova-rt-compute.')
        install.extend_nova_virt()
        try:
            importutils.import_class(f'nova.virt.{found}')
        except ImportError as error:
            return Result(Code.FAILURE, f'compute_driver = {found} cannot be '
                                        f'loaded: {error}')
        return Result(Code.SUCCESS, f'compute_driver = {found} is found.')

    @_guarded
    def _middleware(self) -> Result:
        path = CONF.find_file(CONF.wsgi.api_paste_config)
        if path is None:
            return Result(Code.SUCCESS, f'There is no '
                          f'{CONF.wsgi.api_paste_config}, which only '
                          f'nova-api needs.')
        try:
            found = paste.read(pathlib.Path(path).read_text())
        except ValueError as error:
            return Result(Code.FAILURE, f'{path} cannot be read: {error}.')
        if found.lacking:
            return Result(
                Code.WARNING, f'In {path} these lack the filter '
                f'egg:nova-rt#reservation_hints: '
                f'{", ".join(found.lacking)}.  If this host runs nova-api, a '
                f'bad hint that is sent there ends in a server in ERROR, in '
                f'place of a 400; put it before the application.')
        return Result(Code.SUCCESS, f'In {path} '
                      f'{" and ".join(found.having)} have the middleware.')

    @_guarded
    def _filter(self) -> Result:
        group = CONF.filter_scheduler
        offered = any(name.startswith(_MODULE)
                      for name in group.available_filters)
        if _FILTER in group.enabled_filters and not offered:
            return Result(Code.FAILURE, f'enabled_filters has {_FILTER} and '
                          f'available_filters lacks {_MODULE}.{_FILTER}: '
                          f'nova-scheduler does not start.')
        if _FILTER not in group.enabled_filters:
            return Result(Code.WARNING, f'enabled_filters lacks {_FILTER}: '
                          f'if this host runs nova-scheduler, servers that '
                          f'ask for a reservation will fail.')
        return Result(Code.SUCCESS, f'{_FILTER} is enabled.')

    @_guarded
    def _matrices(self) -> Result:
        if _WEIGHER not in CONF.filter_scheduler.weight_classes:
            return Result(Code.SUCCESS, 'RTInterferenceWeigher is not used.')
        try:
            matrices.model(CONF)
        except exception.RTError as error:
            return Result(Code.FAILURE, f'RTInterferenceWeigher does not '
                                        f'weigh hosts: {error}')
        return Result(Code.SUCCESS, 'RTInterferenceWeigher has its matrices.')

    @_guarded
    def _classes(self) -> Result:
        found = placement.Placement(nova_context.get_admin_context())
        missing = [name for name in hostmap.CLASSES
                   if not found.has_class(name)]
        if missing:
            return Result(Code.WARNING, f'Placement has no resource class '
                          f'{" and ".join(missing)}: no nova-compute with '
                          f'this version of nova-rt has run yet.')
        return Result(Code.SUCCESS, 'Placement has the resource classes.')

    @_guarded
    @_with_database
    def _flavors(self) -> Result:
        suspects = [f'{each.flavor} ({each.found})'
                    for each in self._cloud.suspects]
        if suspects:
            return Result(Code.WARNING, f'Look meant to be reserved and are '
                          f'not: {_some(suspects)}; nova-rt-manage check '
                          f'says what to do.')
        return self._seen('No flavor looks reserved that is not.')

    @_guarded
    @_with_database
    def _unclaimed(self) -> Result:
        servers = self._of_kind('claim.missing')
        if servers:
            return Result(Code.WARNING, f'Ask for a reservation and hold '
                          f'none: {servers}; resize or migrate them.')
        return self._seen('No server asks for a reservation and holds none.')

    @_guarded
    @_with_database
    def _readable(self) -> Result:
        servers = self._of_kind('claim.unreadable')
        if servers:
            return Result(Code.FAILURE, f'Have a claim that cannot be read: '
                          f'{servers}; nova-rt-manage check says more.')
        return self._seen('All claims can be read.')

    @_guarded
    @_with_database
    def _older_rules(self) -> Result:
        found = list(older.servers())
        if not found:
            return Result(Code.SUCCESS, 'Each server with a reservation '
                          'would be admitted today.')
        return Result(
            Code.WARNING, f'Have a reservation that would be refused today: '
            f'{_some([uuid for uuid, _ in found])}; the first: '
            f'{found[0][1]}.  They run and move as ever; a resize to a '
            f'flavor that is admitted puts them right.')

    def _of_kind(self, kind: str) -> str:
        return _some([each.server for each in self._differences
                      if each.kind == kind])

    def _seen(self, good: str) -> Result:
        if self._unchecked:
            return Result(Code.FAILURE, f'Could not be checked: '
                                        f'{"; ".join(self._unchecked)}.')
        return Result(Code.SUCCESS, good)

    @property
    def _differences(self) -> Sequence[snapshot.Difference]:
        return self._cloud.differences

    @property
    def _unchecked(self) -> Sequence[str]:
        return self._cloud.view.unchecked

    @functools.cached_property
    def _cloud(self) -> report.Report:
        return command.examine(load.Scope(kernel=False))

    _upgrade_checks = (
        ('Nova version', _nova),
        ('Compute driver of this host', _driver),
        ('Middleware of this host', _middleware),
        ('Scheduler filter of this host', _filter),
        ('Interference matrices of this host', _matrices),
        ('Resource classes', _classes),
        ('Flavors without their reservation', _flavors),
        ('Servers without their claim', _unclaimed),
        ('Readable claims', _readable),
        ('Servers admitted by older rules', _older_rules),
    )


def _some(servers: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(servers) - _NAMED
    return ', '.join(servers[:_NAMED]) + (
        f' and {more} more' if more > 0 else '')
