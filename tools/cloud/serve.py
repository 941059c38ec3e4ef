# SPDX-License-Identifier: Apache-2.0

"""Runs one service of the cloud: the main function of every process.

Each project keeps its configuration in globals, so projects cannot share a
process.  nova_aio.py says how the services of Nova share one, and forks.py
starts several services at once.

Usage: ``python -m cloud.serve SERVICE``
"""

from collections.abc import Callable
import gc
import importlib
import sys
from typing import Any

from cloud import databases
from cloud import kept
from cloud import plugins
from cloud import settings
from cloud import web

Application = Callable[..., Any]


def keystone(cloud: settings.Settings) -> Application:
    """Returns the application of Keystone."""
    plugins.leave_out_saml()
    from keystone.server.flask import core

    from cloud import register

    complete = kept.restore(cloud, 'keystone')

    def prepare() -> None:
        if not complete:
            databases.keystone()
            register.create_keys()

    application = core.initialize_application(
        'public', post_log_configured_function=prepare,
        config_files=[str(cloud.etc / 'keystone' / 'keystone.conf')])
    if not complete:
        register.register(cloud)
        kept.keep(cloud, 'keystone')
    return _checked(application)


def placement(cloud: settings.Settings) -> Application:
    """Returns the application of Placement."""
    complete = kept.restore(cloud, 'placement')
    application = module('placement.wsgi.api')
    if not complete:
        kept.keep(cloud, 'placement')
    return application


def glance(cloud: settings.Settings) -> Application:
    """Returns the application of Glance."""
    for store in ('images', 'staging', 'tasks'):
        (cloud.data / store).mkdir(exist_ok=True)
    complete = kept.restore(cloud, 'glance')
    application = module('glance.wsgi.api')
    if not complete:
        databases.glance()
        kept.keep(cloud, 'glance')
    return application


def neutron(cloud: settings.Settings) -> Application:
    """Returns the application of Neutron."""
    complete = kept.restore(cloud, 'neutron')
    databases.neutron(cloud, complete)
    if not complete:
        kept.keep(cloud, 'neutron')
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
    collect_garbage()
    web.server(application, cloud.port(service)).start()


def collect_garbage() -> None:
    """Starts garbage collection, without the objects that the start made."""
    gc.freeze()
    gc.enable()


def _choose_threads() -> None:
    """Chooses threads instead of eventlet, before other imports of Nova."""
    from nova import monkey_patch
    monkey_patch.patch(backend='threading')


def run(service: str) -> None:
    """Runs a service until the process is ended."""
    cloud = _prepare()
    if service == 'nova':
        _choose_threads()
        from cloud import nova_aio
        nova_aio.main(cloud)
    else:
        _serve(service, cloud)


def complete(service: str) -> None:
    """Completes and keeps the databases of a service that does not run."""
    cloud = _prepare()
    if service == 'nova':
        _choose_threads()
        from cloud import nova_aio
        nova_aio.configure(cloud)
        databases.nova(cloud)
    else:
        APPLICATIONS[service](cloud)


def _prepare() -> settings.Settings:
    # A start makes no garbage, only objects that the collector would search.
    gc.disable()
    plugins.list_at_once()
    databases.serialise_transactions()
    return settings.load()


def main() -> None:
    """Runs the service that the command line names."""
    # Some services parse the rest of the command line themselves.
    run(sys.argv.pop())


if __name__ == '__main__':
    main()
