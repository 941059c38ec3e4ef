# SPDX-License-Identifier: Apache-2.0

"""The message of a command when a package that it needs is not installed."""

#: The name of a package and our extra that installs it, by its import name.
_KNOWN = {
    'libvirt': ('libvirt-python', 'nova'),
    'networkx': ('networkx', 'monitor'),
    # Some modules import packages that come with Nova before Nova itself.
    **dict.fromkeys(('keystoneauth1', 'nova', 'oslo_db', 'sqlalchemy'),
                    ('Nova', 'nova')),
    'tacker': ('Tacker', 'tacker'),
    'toscaparser': ('tosca-parser', 'tacker'),
    'translator': ('heat-translator', 'tacker'),
}
_OURS = ('', 'nova_rt', 'tacker_rt')


def sentence(error: ModuleNotFoundError) -> str:
    """Returns one sentence on which package is missing and what to do.

    :raises ModuleNotFoundError: *error* itself, when a module of this
        project is missing: that is a defect, which installing something
        cannot mend
    """
    package = (error.name or '').partition('.')[0]
    if package in _OURS:
        raise error
    name, extra = _KNOWN.get(package, (package, ''))
    wanted = f'nova-rt[{extra}]' if extra else 'it'
    return (f'{name} is not installed in this Python environment; install '
            f'{wanted} there, or run this where {name} is.')
