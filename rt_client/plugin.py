# SPDX-License-Identifier: Apache-2.0

"""The functions that python-openstackclient requires of a plug-in.

The page "Plugins" of the contributor documentation of python-openstackclient
has the contract.
"""

import argparse
from typing import Any

from rt_client import cloud

API_NAME = 'rt'
API_VERSION_OPTION = 'os_rt_api_version'
API_VERSIONS = ('1',)


def make_client(instance: Any) -> cloud.Cloud:
    """Returns the client object of the commands, with the user's session."""
    connection = instance.sdk_connection
    return cloud.Cloud(connection.compute, connection.placement)


def build_option_parser(parser: argparse.ArgumentParser
                        ) -> argparse.ArgumentParser:
    """Adds the option that python-openstackclient reads for each plug-in."""
    parser.add_argument(
        '--os-rt-api-version', metavar='<rt-api-version>', default='1',
        help='Version of the API of nova-rt, default=1')
    return parser
