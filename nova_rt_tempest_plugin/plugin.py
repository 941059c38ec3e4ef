# SPDX-License-Identifier: Apache-2.0

"""The plugin that Tempest loads."""

import pathlib
from typing import Any

from oslo_config import cfg
from tempest.test_discover import plugins

from nova_rt_tempest_plugin import config

_PACKAGE = pathlib.Path(__file__).parent


class NovaRtTempestPlugin(plugins.TempestPlugin):
    """Adds tests of reservations; the plugin has no clients."""

    def load_tests(self) -> tuple[str, str]:
        """Returns the directory of the tests, and the root of their names."""
        return str(_PACKAGE / 'tests'), str(_PACKAGE.parent)

    def register_opts(self, conf: cfg.ConfigOpts) -> None:
        conf.register_group(config.GROUP)
        conf.register_opts(config.OPTS, group=config.GROUP)

    def get_opt_lists(self) -> list[tuple[str, list[Any]]]:
        return [(config.GROUP.name, config.OPTS)]
