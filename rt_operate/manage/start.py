# SPDX-License-Identifier: Apache-2.0

"""Makes a command line tool a client of Nova's databases, as nova-manage is.

There is no eventlet and no RPC: the tool waits for no service except
Placement.
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
    """Adds the options that name the files for ``configure``."""
    parser.add_argument(
        '--config-file', action='append', default=[], metavar='FILE',
        help='a nova.conf; may be repeated (default: the files that Nova '
             'reads)')
    parser.add_argument('--config-dir', action='append', default=[],
                        metavar='DIR', help='a directory of such files; may '
                        'be repeated')


def configure(prog: str, files: Sequence[str], directories: Sequence[str],
              debug: bool) -> None:
    """Reads the configuration and prepares the databases for use.

    :raises oslo_config.cfg.Error: when the configuration cannot be read
    """
    rt_conf.register_opts(CONF)
    argv = [prog]
    for path in files:
        argv += ['--config-file', path]
    for path in directories:
        argv += ['--config-dir', path]
    config.parse_args(argv, configure_db=False, init_rpc=False)
    # This registers [DEFAULT] transport_url, which cell mappings read.
    rpc.get_transport_url()
    if debug:
        CONF.set_override('debug', True)
        CONF.set_override('log_file', None)
        CONF.set_override('log_dir', None)
        logging.setup(CONF, 'nova')
    else:
        # The command prints what concerns the operator, so the log would
        # only repeat it.
        python_logging.disable()
    # Saving a server would need a notifier, which this process lacks.
    CONF.set_override('notify_on_state_change', None, 'notifications')
    for group in ('database', 'api_database'):
        # An operator waits for the answer, and the default of ten attempts
        # every ten seconds is too long.
        CONF.set_override('max_retries', 1, group)
        CONF.set_override('retry_interval', 1, group)
    main_db.configure(CONF)
    api_db.configure(CONF)
    objects.register_all()
