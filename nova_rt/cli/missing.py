# SPDX-License-Identifier: Apache-2.0

"""What a command says where a package that it needs is not installed."""

#: By the name of the import: what people call it, and our extra for it.
_KNOWN = {
    'libvirt': ('libvirt-python', 'nova'),
    'networkx': ('networkx', 'monitor'),
    # What comes with Nova is asked for before Nova itself, here and there.
    **dict.fromkeys(('keystoneauth1', 'nova', 'oslo_db', 'sqlalchemy'),
                    ('Nova', 'nova')),
    'tacker': ('Tacker', 'tacker'),
    'toscaparser': ('tosca-parser', 'tacker'),
    'translator': ('heat-translator', 'tacker'),
}
_OURS = ('', 'nova_rt', 'tacker_rt')


def sentence(error: ModuleNotFoundError) -> str:
    """Returns one sentence: what is missing, and what to do.

    :raises ModuleNotFoundError: *error*, where a module of our own is
        missing: a defect, which nobody can mend by an installation
    """
    package = (error.name or '').partition('.')[0]
    if package in _OURS:
        raise error
    name, extra = _KNOWN.get(package, (package, ''))
    what = f'nova-rt[{extra}]' if extra else 'it'
    return (f'{name} is not installed in this Python environment; install '
            f'{what} there, or run this where {name} is.')
