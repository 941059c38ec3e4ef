# SPDX-License-Identifier: Apache-2.0

"""Runs one service of the cloud: the main function of every process.

Each project keeps its configuration in globals, so projects cannot share a
process.  nova_aio.py says how the services of Nova share one.

Usage: ``python -m cloud.serve SERVICE``
"""

from collections.abc import Callable
import importlib
import sys
from typing import Any

from cloud import databases
from cloud import settings
from cloud import web

Application = Callable[..., Any]


def keystone(cloud: settings.Settings) -> Application:
    """Returns the application of Keystone."""
    from keystone.server.flask import core

    from cloud import register

    def prepare() -> None:
        databases.keystone()
        register.create_keys()

    application = core.initialize_application(
        'public', post_log_configured_function=prepare,
        config_files=[str(cloud.etc / 'keystone' / 'keystone.conf')])
    register.register(cloud)
    return _checked(application)


def placement(cloud: settings.Settings) -> Application:
    """Returns the application of Placement."""
    return module('placement.wsgi.api')


def glance(cloud: settings.Settings) -> Application:
    """Returns the application of Glance."""
    for store in ('images', 'staging', 'tasks'):
        (cloud.data / store).mkdir(exist_ok=True)
    application = module('glance.wsgi.api')
    databases.glance()
    return application


def neutron(cloud: settings.Settings) -> Application:
    """Returns the application of Neutron."""
    databases.neutron(cloud)
    return module('neutron.wsgi.api')


APPLICATIONS: dict[str, Callable[[settings.Settings], Application]] = {
    'keystone': keystone, 'placement': placement, 'glance': glance,
    'neutron': neutron}


def module(name: str) -> Application:
    """Returns the application of a module that configures itself on import."""
    return _checked(importlib.import_module(name).application)


def _checked(application: object) -> Application:
    if not callable(application):
        raise TypeError(f'{application!r} is not a WSGI application')
    return application


def _serve(service: str, cloud: settings.Settings) -> None:
    application = APPLICATIONS[service](cloud)
    web.server(application, cloud.port(service)).start()


def _serve_nova(cloud: settings.Settings) -> None:
    from nova import monkey_patch

    # Chooses native threads instead of eventlet, before any other import.
    monkey_patch.patch(backend='threading')
    from cloud import nova_aio
    nova_aio.main(cloud)


def main() -> None:
    """Runs the service that the command line names."""
    # Some services parse the rest of the command line themselves.
    service = sys.argv.pop()
    cloud = settings.load()
    databases.serialise_transactions()
    if service == 'nova':
        _serve_nova(cloud)
    else:
        _serve(service, cloud)


if __name__ == '__main__':
    main()
