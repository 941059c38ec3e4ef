# SPDX-License-Identifier: Apache-2.0

"""Runs all of Nova in one process: conductor, scheduler, compute and the API.

The services use oslo.messaging's in-memory driver and native threads, and
share one configuration.  serve.py starts this process inside libvirtd's mount
namespace.
"""

from collections.abc import Sequence
from concurrent import futures
import os
import shlex
import signal
import threading
import traceback

from cheroot import wsgi
import os_brick
import os_vif
from oslo_privsep import priv_context

from cloud import databases
from cloud import serve
from cloud import settings
from cloud import web
from nova.api.openstack import wsgi_app
from nova.compute import rpcapi as compute_rpcapi
from nova.conductor import rpcapi as conductor_rpcapi
from nova.conf import CONF
from nova import context
from nova import objects
from nova.objects import host_mapping
from nova.scheduler import rpcapi as scheduler_rpcapi
from nova import service
from nova import utils

# Longer than Nova's own shutdown timeouts together.
STOP_PATIENCE = 6


def configure(cloud: settings.Settings) -> None:
    """Prepares Nova as the main functions of its services do."""
    files = [str(cloud.nova_conf.with_name('api-paste.ini')),
             str(cloud.nova_conf)]
    wsgi_app.init_global_data(files, 'osapi_compute', 'nova-api')
    for directory in (CONF.state_path, CONF.instances_path):
        os.makedirs(directory, exist_ok=True)
    priv_context.init(root_helper=shlex.split(utils.get_root_helper()))
    objects.register_all()
    os_brick.setup(CONF)
    os_vif.initialize()


def start_services() -> list[service.Service]:
    """Starts the conductor, then the scheduler, then the compute service."""
    return [
        _start('nova-conductor', conductor_rpcapi.RPC_TOPIC),
        _start('nova-scheduler', scheduler_rpcapi.RPC_TOPIC),
        _start('nova-compute', compute_rpcapi.RPC_TOPIC,
               compute_rpcapi.RPC_TOPIC_ALT),
    ]


def _start(binary: str, topic: str,
           topic_alt: str | None = None) -> service.Service:
    started = service.Service.create(
        binary=binary, topic=topic, topic_alt=topic_alt)
    started.start()
    return started


def start_api(cloud: settings.Settings) -> wsgi.Server:
    """Serves the API from a thread, with the loaded configuration."""
    application = wsgi_app.init_application('osapi_compute', 'nova-api')
    server = web.server(application, cloud.port('nova'))
    server.prepare()
    threading.Thread(target=server.serve, daemon=True).start()
    return server


def stop(server: wsgi.Server, services: Sequence[service.Service]) -> None:
    """Stops the API, then all services at once; returns even if one hangs."""
    deadline = threading.Timer(STOP_PATIENCE, os._exit, args=[1])
    deadline.daemon = True
    deadline.start()
    server.stop()
    with futures.ThreadPoolExecutor() as pool:
        list(pool.map(service.Service.stop, services))


def run(cloud: settings.Settings) -> None:
    """Starts everything, waits for SIGTERM, and stops everything."""
    stopping = threading.Event()
    configure(cloud)
    databases.nova(cloud)
    web.wait(cloud.url('keystone'), cloud.url('placement'))
    services = start_services()
    host_mapping.discover_hosts(context.get_admin_context())
    server = start_api(cloud)
    serve.collect_garbage()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    stopping.wait()
    stop(server, services)


def main(cloud: settings.Settings) -> None:
    """Runs Nova with the settings of the cloud."""
    code = 1
    try:
        run(cloud)
        code = 0
    except BaseException:
        # Nova also exits when it cannot load a driver.
        traceback.print_exc()
    finally:
        # Nova's worker threads would prevent the interpreter from ending.
        os._exit(code)
