# SPDX-License-Identifier: Apache-2.0

"""Lets nova-rt take the container of tests/stack for the host.

The container has a PID namespace of its own, and nova-rt offers nothing and
takes nothing in one.  Here libvirt and all guests are in the same namespace,
so nothing is hidden.  Python imports this module at its start in the
container; it stands alone there.
"""

from collections.abc import Sequence
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from typing import Any

#: Where nova-rt asks whether it sees the host.
MODULE = 'nova_rt.machine.host.namespaces'


class Finder(importlib.abc.MetaPathFinder):
    """Changes the module when it is imported, and nothing before."""

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: Any = None
                  ) -> importlib.machinery.ModuleSpec | None:
        if fullname != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        assert spec is not None and spec.loader is not None
        load = spec.loader.exec_module

        def loaded(module: Any) -> None:
            load(module)
            module.trouble = lambda host: ''

        spec.loader.exec_module = loaded  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, Finder())
