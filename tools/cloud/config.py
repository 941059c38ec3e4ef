# SPDX-License-Identifier: Apache-2.0

"""Renders the configuration files of the cloud from templates/.

Only this module knows where each file goes.  Values that never change are in
the templates.
"""

from collections.abc import Iterable, Sequence
import pathlib
import string
import sys

from cloud import guests
from cloud import settings

TEMPLATES = pathlib.Path(__file__).parent / 'templates'

# Template -> place below the configuration directory.
FILES = {
    'keystone.conf': 'keystone/keystone.conf',
    'placement.conf': 'placement/placement.conf',
    'glance-api.conf': 'glance/glance-api.conf',
    'neutron.conf': 'neutron/neutron.conf',
    'ml2_conf.ini': 'neutron/plugins/ml2/ml2_conf.ini',
    'libvirtd.conf': 'libvirt/libvirtd.conf',
    'qemu.conf': 'libvirt/qemu.conf',
}
# The parts of nova.conf.  Each nova-compute of the full cloud has a file of
# its own, which names no database.
NOVA = 'nova.conf'
PLUGIN = 'nova-plugin.conf'
DATABASE = 'nova-database.conf'
FULL_NOVA = 'full/nova.conf'
FULL_DATABASE = 'full/nova-database.conf'
COMPUTE = 'full/nova-compute.conf'
TEMPEST = 'full/tempest.conf'
# Templates of the full cloud are appended to the others and override them.
FULL_FILES = {
    'full/keystone.conf': 'keystone/keystone.conf',
    'full/placement.conf': 'placement/placement.conf',
    'full/glance-api.conf': 'glance/glance-api.conf',
    'full/neutron.conf': 'neutron/neutron.conf',
    'full/heat.conf': 'heat/heat.conf',
    'full/tacker.conf': 'tacker/tacker.conf',
}


def render(cloud: settings.Settings, overrides: Iterable[str]) -> None:
    """Writes all configuration files; appends the overrides to nova.conf."""
    values = _values(cloud)
    for template, place in FILES.items():
        _write(cloud.etc / place, _fill(template, values))
    nova = [NOVA, *([PLUGIN] if cloud.plugin else [])]
    if cloud.full:
        _render_full(cloud, nova, values)
    else:
        _write_parts(cloud.nova_conf, [*nova, DATABASE], values)
    _write(cloud.etc / 'nova' / 'api-paste.ini', _api_paste(cloud.plugin))
    override(cloud, overrides)


def _render_full(cloud: settings.Settings, nova: Sequence[str],
                 values: dict[str, str]) -> None:
    for template, place in FULL_FILES.items():
        _append(cloud.etc / place, _fill(template, values))
    nova = [*nova, FULL_NOVA]
    _write_parts(cloud.nova_conf, [*nova, FULL_DATABASE], values)
    for node in cloud.nodes:
        path = cloud.compute_conf(node.name)
        _write_parts(path, [*nova, COMPUTE], {
            **values, 'path': str(path), 'node': node.name,
            'virt_type': node.guest,
            'libvirt_uri': guests.KINDS[node.guest].uri,
            'cpu_mode': guests.KINDS[node.guest].cpu_mode})


def render_tempest(cloud: settings.Settings, path: pathlib.Path,
                   more: dict[str, str]) -> None:
    """Writes tempest.conf, with values that only a running cloud has."""
    _write(path, _fill(TEMPEST, {**_values(cloud), **more}))


def override(cloud: settings.Settings, overrides: Iterable[str]) -> None:
    """Appends SECTION.OPTION=VALUE settings; the last one counts."""
    for item in overrides:
        section, option, value = parse_override(item)
        for path in _nova_files(cloud):
            _append(path, f'[{section}]\n{option} = {value}\n')


def _nova_files(cloud: settings.Settings) -> list[pathlib.Path]:
    if not cloud.full:
        return [cloud.nova_conf]
    return [cloud.nova_conf,
            *(cloud.compute_conf(node.name) for node in cloud.nodes)]


def parse_override(item: str) -> tuple[str, str, str]:
    """Reads a setting of the form SECTION.OPTION=VALUE."""
    name, equals, value = item.partition('=')
    section, dot, option = name.partition('.')
    if not (section and dot and option and equals):
        raise ValueError(f'{item!r} is not of the form SECTION.OPTION=VALUE')
    return section.strip(), option.strip(), value.strip()


def _values(cloud: settings.Settings) -> dict[str, str]:
    values = {
        'prefix': sys.prefix,
        'etc': str(cloud.etc),
        'data': str(cloud.data),
        'run': str(cloud.run),
        'virt_type': cloud.kind.virt_type,
        'libvirt_uri': cloud.kind.uri,
        'cpu_mode': cloud.kind.cpu_mode,
        'region': settings.REGION,
        'auth_url': cloud.auth_url,
        'domain_prefix': settings.DOMAIN_PREFIX,
        'password': settings.PASSWORD,
        'keystone_url': cloud.url('keystone'),
        'heat_url': cloud.url('heat'),
        'tacker_url': cloud.url('tacker'),
        'tacker_port': str(cloud.port('tacker')),
        'database': cloud.database_url,
        'rabbit': cloud.rabbit_url,
    }
    for service in (*settings.SERVICES, 'heat', 'tacker'):
        values[f'as_{service}'] = _credentials(cloud, service)
    return values


def _credentials(cloud: settings.Settings, user: str) -> str:
    values = {'user': user, 'auth_url': cloud.auth_url,
              'password': settings.PASSWORD, 'region': settings.REGION}
    return _fill('credentials.conf', values).rstrip()


def _api_paste(plugin: bool) -> str:
    """Returns Nova's pipelines; with the plugin, they have our filter.

    Both pipelines end in the same application, so one replacement is enough.
    """
    packaged = (settings.nova_prefix() / 'etc/nova/api-paste.ini').read_text()
    if not plugin:
        return packaged
    extended = packaged.replace(
        ' osapi_compute_app_v21\n', ' nova_rt osapi_compute_app_v21\n')
    return extended + _fill('api-paste-plugin.ini', {})


def _fill(template: str, values: dict[str, str]) -> str:
    text = (TEMPLATES / template).read_text()
    return string.Template(text).substitute(values)


def _write_parts(path: pathlib.Path, templates: Iterable[str],
                 values: dict[str, str]) -> None:
    _write(path, '\n'.join(_fill(name, values) for name in templates))


def _write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _append(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('a') as file:
        file.write(f'\n{text}')
