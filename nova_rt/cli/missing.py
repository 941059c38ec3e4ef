# SPDX-License-Identifier: Apache-2.0

"""The message of a command when a package that it needs is not installed."""

import importlib.util

#: The name of a package and our extra that installs it, by its import name.
_KNOWN = {
    'libvirt': ('libvirt-python', 'compute'),
    'lxml': ('lxml', 'compute'),
    'matplotlib': ('matplotlib', 'plot'),
    'networkx': ('networkx', 'monitor'),
    'numpy': ('numpy', 'models'),
    'opentelemetry': ('OpenTelemetry', 'otlp'),
    'os_vif': ('os-vif', 'nova'),
    'oslo_config': ('oslo.config', 'nova'),
    'oslo_context': ('oslo.context', 'nova'),
    'oslo_log': ('oslo.log', 'nova'),
    'oslo_policy': ('oslo.policy', 'nova'),
    'oslo_privsep': ('oslo.privsep', 'compute'),
    'oslo_reports': ('oslo.reports', 'nova'),
    'oslo_serialization': ('oslo.serialization', 'nova'),
    'oslo_upgradecheck': ('oslo.upgradecheck', 'nova'),
    'oslo_utils': ('oslo.utils', 'nova'),
    'requests': ('requests', 'otlp'),
    'tempest': ('Tempest', 'tempest'),
    'toscaparser': ('tosca-parser', 'tacker'),
    'translator': ('heat-translator', 'tacker'),
    'webob': ('WebOb', 'nova'),
    'yaml': ('PyYAML', 'models'),
}
#: The services that nova-rt plugs into, which none of our extras installs.
#: Some modules first import a package that comes with Nova, and then Nova
#: itself.
_HOSTS = {
    **dict.fromkeys(('keystoneauth1', 'nova', 'oslo_db', 'sqlalchemy'),
                    'Nova'),
    'tacker': 'Tacker',
}
_OURS = ('', 'nova_rt', 'rt_hcbs', 'rt_models', 'rt_monitor', 'rt_operate',
         'rt_probe', 'tacker_rt')


def sentence(error: ModuleNotFoundError, extra: str = '') -> str:
    """Returns one sentence on which package is missing and what to do.

    :param extra: the extra to install when several extras have the package
    :raises ModuleNotFoundError: *error* itself, when a module of this
        project is missing: this is a defect that no installation can correct
    """
    package = _package(error)
    name, known = _KNOWN.get(package, (package, ''))
    if known == 'nova' and importlib.util.find_spec('nova') is None:
        package = 'nova'
    if package in _HOSTS:
        name = _HOSTS[package]
        return (f'{name} is not installed in this Python environment; run '
                f'the command in an environment that has {name}.')
    target = f'nova-rt[{extra or known}]' if known else 'it'
    return (f'{name} is not installed in this Python environment; install '
            f'{target} there, or run the command in an environment that has '
            f'{name}.')


def short(error: ModuleNotFoundError, extra: str = '') -> str:
    """Returns the same message in a few words, for a list of commands.

    :raises ModuleNotFoundError: when :func:`sentence` raises it
    """
    package = _package(error)
    name, known = _KNOWN.get(package, (_HOSTS.get(package, package), ''))
    return f'needs {name}' + (f': install nova-rt[{extra or known}]'
                              if known else '')


def _package(error: ModuleNotFoundError) -> str:
    """Returns the import name of the missing package.

    :raises ModuleNotFoundError: *error* itself, when the package is ours
    """
    package = (error.name or '').partition('.')[0]
    if package in _OURS:
        raise error
    return package
