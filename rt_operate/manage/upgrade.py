# SPDX-License-Identifier: Apache-2.0

"""The checks of ``nova-rt-status upgrade check``.

The checks cover the configuration of this host and the whole cloud. Run the
command on each host before you start to use nova-rt, or a new version of
nova-rt, there.
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
from rt_operate.manage import command
from rt_operate.manage import errors
from rt_operate.manage import paste
from rt_operate.manage.read import load
from rt_operate.manage.read import older
from rt_operate.manage.read import placement
from rt_operate.manage import report
from rt_operate.manage import snapshot
from rt_weighers import matrices

CONF = nova.conf.CONF

_DRIVER = 'nova_rt.RTLibvirtDriver'
_FILTER = 'RTShareFilter'
_MODULE = 'nova_rt.scheduler.filters'
_WEIGHER = 'nova_rt.scheduler.weights.RTInterferenceWeigher'
#: A sentence names this many servers and counts the rest.
_NAMED = 5

Result = upgradecheck.Result
Code = upgradecheck.Code


_Check = Callable[['Checks'], Result]


def _with_database(check: _Check) -> _Check:
    """Skips a check with a warning if no database is configured.

    Hosts that only run nova-compute have no database. On a host with a
    database, the check covers all hosts.
    """
    @functools.wraps(check)
    def checked(self: 'Checks') -> Result:
        if CONF.api_database.connection is None:
            return Result(Code.WARNING, 'Not checked: no database is '
                          'configured on this host; run this command on a '
                          'host of nova-api, which checks the whole cloud.')
        return check(self)
    return checked


def _guarded(check: _Check) -> _Check:
    """Turns an error of a check into a failure with one sentence."""
    @functools.wraps(check)
    def guarded(self: 'Checks') -> Result:
        try:
            return check(self)
        except errors.ERRORS as error:
            return Result(Code.FAILURE, 'This check could not be completed: '
                                        f'{errors.sentence(error)}.')
    return guarded


class Checks(upgradecheck.UpgradeCommands):
    """The checks, in the order in which they are shown."""

    @_guarded
    def _nova(self) -> Result:
        version = importlib.metadata.version('nova')
        try:
            selfcheck.verify()
        except exception.UnsupportedNova as error:
            return Result(Code.FAILURE, f'Nova {version}: {error}')
        return Result(Code.SUCCESS, f'Nova {version} has all methods that '
                                    f'nova-rt uses.')

    @_guarded
    def _driver(self) -> Result:
        driver = CONF.compute_driver
        if driver != _DRIVER:
            return Result(
                Code.WARNING if driver else Code.SUCCESS,
                f'compute_driver is {driver}: if this host runs nova-compute, '
                'nova-compute offers no CPU reservations; set compute_driver '
                f'to {_DRIVER}.')
        names = [entry.name for entry
                 in importlib.metadata.entry_points(group='os_vif')]
        if 'nova_rt' not in names:
            return Result(
                Code.FAILURE, 'nova-compute cannot find the driver, because '
                'the entry point os_vif:nova_rt is missing: install nova-rt '
                'in the Python environment of Nova, or run nova-rt-compute.')
        install.extend_nova_virt()
        try:
            importutils.import_class(f'nova.virt.{driver}')
        except ImportError as error:
            return Result(Code.FAILURE, f'compute_driver = {driver} cannot be '
                                        f'loaded: {error}')
        return Result(Code.SUCCESS, f'compute_driver = {driver} is found.')

    @_guarded
    def _middleware(self) -> Result:
        path = CONF.find_file(CONF.wsgi.api_paste_config)
        if path is None:
            return Result(Code.SUCCESS, f'There is no '
                          f'{CONF.wsgi.api_paste_config}, which only '
                          f'nova-api needs.')
        try:
            pipelines = paste.read(pathlib.Path(path).read_text())
        except ValueError as error:
            return Result(Code.FAILURE, f'{path} cannot be read: {error}.')
        if pipelines.lacking:
            return Result(
                Code.WARNING, f'In {path} these pipelines lack the filter '
                f'egg:nova-rt#reservation_hints: '
                f'{", ".join(pipelines.lacking)}.  If this host runs '
                f'nova-api, a request there with a bad hint ends with a '
                f'server in ERROR instead of HTTP status 400; put the filter '
                f'before the application.')
        return Result(Code.SUCCESS, f'In {path} all pipelines of the compute '
                      f'API have the middleware: '
                      f'{", ".join(pipelines.having)}.')

    @_guarded
    def _filter(self) -> Result:
        group = CONF.filter_scheduler
        offered = any(name.startswith(_MODULE)
                      for name in group.available_filters)
        if _FILTER in group.enabled_filters and not offered:
            return Result(Code.FAILURE, f'enabled_filters has {_FILTER}, but '
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
            return Result(Code.FAILURE, f'RTInterferenceWeigher has no '
                                        f'effect: {error}')
        return Result(Code.SUCCESS, 'RTInterferenceWeigher can read its '
                                    'matrices.')

    @_guarded
    def _classes(self) -> Result:
        client = placement.Placement(nova_context.get_admin_context())
        missing = [name for name in hostmap.CLASSES
                   if not client.has_class(name)]
        if missing:
            return Result(Code.WARNING, f'Placement has no resource class '
                          f'{" and ".join(missing)}: no nova-compute with '
                          f'this version of nova-rt has run yet.')
        return Result(Code.SUCCESS, 'Placement has the resource classes.')

    @_guarded
    @_with_database
    def _flavors(self) -> Result:
        suspects = [f'{suspect.flavor} ({suspect.found})'
                    for suspect in self._cloud.suspects]
        if suspects:
            return Result(Code.WARNING, f'The reservation of these flavors '
                          f'is wrong or seems to be missing: '
                          f'{_some(suspects)}; nova-rt-manage check says '
                          f'what to do.')
        return self._verdict('No flavor was found whose reservation is wrong '
                             'or seems to be missing.')

    @_guarded
    @_with_database
    def _unclaimed(self) -> Result:
        servers = self._servers_with('claim.missing')
        if servers:
            return Result(Code.WARNING, f'These servers ask for a '
                          f'reservation but hold no claim: {servers}; '
                          f'resize or migrate these servers.')
        return self._verdict('Every server that asks for a reservation holds '
                             'a claim.')

    @_guarded
    @_with_database
    def _readable(self) -> Result:
        servers = self._servers_with('claim.unreadable')
        if servers:
            return Result(Code.FAILURE, f'These servers have a claim that '
                          f'cannot be read: {servers}; nova-rt-manage check '
                          f'says more.')
        return self._verdict('All claims can be read.')

    @_guarded
    @_with_database
    def _older_rules(self) -> Result:
        refused = list(older.servers())
        if not refused:
            return Result(Code.SUCCESS, 'Every server with a reservation '
                          'would also be admitted today.')
        return Result(
            Code.WARNING, 'These servers have a reservation that would be '
            f'refused today: {_some([uuid for uuid, _ in refused])}; reason '
            f'for the first: {refused[0][1]}.  These servers run and can be '
            'moved as before; resize them to a flavor that is admitted.')

    def _servers_with(self, kind: str) -> str:
        return _some([difference.server for difference in self._differences
                      if difference.kind == kind])

    def _verdict(self, good: str) -> Result:
        if self._unchecked:
            return Result(Code.FAILURE, f'Not everything could be checked: '
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
    """Returns the first names, and the number of the names left out."""
    more = len(servers) - _NAMED
    return ', '.join(servers[:_NAMED]) + (
        f' and {more} more' if more > 0 else '')
