# SPDX-License-Identifier: Apache-2.0

"""Runs one of the full cloud's HTTP services.

Usage: ``python -m cloud.full.serve SERVICE``
"""

from collections.abc import Callable
import importlib
import sys

from cloud import plugins
from cloud import serve
from cloud import settings
from cloud import web


def _glance(cloud: settings.Settings) -> serve.Application:
    for store in ('images', 'staging', 'tasks'):
        (cloud.data / store).mkdir(exist_ok=True)
    return serve.module('glance.wsgi.api')


def _neutron(cloud: settings.Settings) -> serve.Application:
    # Listing ports needs a model that otherwise only an L3 plugin would load.
    importlib.import_module('neutron.db.migration.models.head')
    from sqlalchemy import orm
    orm.configure_mappers()
    return serve.module('neutron.wsgi.api')


def _nova(cloud: settings.Settings) -> serve.Application:
    return serve.module('nova.wsgi.osapi_compute')


def _heat(cloud: settings.Settings) -> serve.Application:
    # This is the only service whose directory no variable names.
    sys.argv += ['--config-file', str(cloud.etc / 'heat' / 'heat.conf')]
    return serve.module('heat.wsgi.api')


# The application of each service and the name of its port.
APPLICATIONS: dict[str, tuple[
    Callable[[settings.Settings], serve.Application], str]] = {
        'keystone': (serve.keystone, 'keystone'),
        'placement': (serve.placement, 'placement'),
        'glance': (_glance, 'glance'), 'neutron': (_neutron, 'neutron'),
        'nova-api': (_nova, 'nova'), 'heat-api': (_heat, 'heat')}


def main() -> None:
    """Serves the application that the command line names."""
    # Some services parse the rest of the command line themselves.
    make, port = APPLICATIONS[sys.argv.pop()]
    cloud = settings.load()
    plugins.list_at_once()
    web.server(make(cloud), cloud.port(port)).start()


if __name__ == '__main__':
    main()
