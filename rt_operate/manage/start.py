# SPDX-License-Identifier: Apache-2.0

"""Makes a command line tool a client of Nova's databases, as nova-manage is.

Without eventlet, without RPC: nothing here waits for another service of Nova
but Placement.
"""

import argparse
from collections.abc import Sequence
import logging as python_logging

import nova.conf
from nova import config
from nova.db.api import api as api_db
from nova.db.main import api as main_db
from nova import objects
from nova import rpc
from oslo_log import log as logging

from nova_rt.services import conf as rt_conf

CONF = nova.conf.CONF


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which files to configure it with; ``configure`` takes them."""
    parser.add_argument(
        '--config-file', action='append', default=[], metavar='FILE',
        help='a nova.conf; may be repeated (default: those of Nova)')
    parser.add_argument('--config-dir', action='append', default=[],
                        metavar='DIR', help='a directory of them')


def configure(prog: str, files: Sequence[str], directories: Sequence[str],
              debug: bool) -> None:
    """Read the configuration and be ready for the databases.

    :raises oslo_config.cfg.Error: the configuration cannot be read
    """
    rt_conf.register_opts(CONF)
    argv = [prog]
    for path in files:
        argv += ['--config-file', path]
    for path in directories:
        argv += ['--config-dir', path]
    config.parse_args(argv, configure_db=False, init_rpc=False)
    # Registers [DEFAULT] transport_url, which every cell mapping looks at.
    rpc.get_transport_url()
    if debug:
        CONF.set_override('debug', True)
        CONF.set_override('log_file', None)
        CONF.set_override('log_dir', None)
        logging.setup(CONF, 'nova')
    else:
        # What concerns the operator is printed; not to say it twice.
        python_logging.disable()
    # There is no notifier here, which saving a server would look for.
    CONF.set_override('notify_on_state_change', None, 'notifications')
    for group in ('database', 'api_database'):
        # An operator waits: ten times ten seconds are too long.
        CONF.set_override('max_retries', 1, group)
        CONF.set_override('retry_interval', 1, group)
    main_db.configure(CONF)
    api_db.configure(CONF)
    objects.register_all()
