# SPDX-License-Identifier: Apache-2.0

"""Render the configuration files of the cloud from templates/.

The only place that knows which file goes where. Values that never change
stay in the templates.
"""

from collections.abc import Iterable
import pathlib
import string
import sys

from cloud import settings

TEMPLATES = pathlib.Path(__file__).parent / 'templates'
PACKAGED = pathlib.Path(sys.prefix) / 'etc'

# Template -> place below the configuration directory.
FILES = {
    'keystone.conf': 'keystone/keystone.conf',
    'placement.conf': 'placement/placement.conf',
    'glance-api.conf': 'glance/glance-api.conf',
    'neutron.conf': 'neutron/neutron.conf',
    'ml2_conf.ini': 'neutron/plugins/ml2/ml2_conf.ini',
    'nova.conf': 'nova/nova.conf',
    'libvirtd.conf': 'libvirt/libvirtd.conf',
}


def render(cloud: settings.Settings, overrides: Iterable[str]) -> None:
    """Write all configuration files; overrides go to the end of nova.conf."""
    values = _values(cloud)
    for template, place in FILES.items():
        _write(cloud.etc / place, _fill(template, values))
    if cloud.plugin:
        _append(cloud.nova_conf, _fill('nova-plugin.conf', values))
    _write(cloud.etc / 'nova' / 'api-paste.ini', _api_paste(cloud.plugin))
    override(cloud, overrides)


def override(cloud: settings.Settings, overrides: Iterable[str]) -> None:
    """Append SECTION.OPTION=VALUE settings: oslo.config takes the last."""
    for item in overrides:
        section, option, value = parse_override(item)
        _append(cloud.nova_conf, f'[{section}]\n{option} = {value}\n')


def parse_override(item: str) -> tuple[str, str, str]:
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
        'region': settings.REGION,
        'auth_url': cloud.auth_url,
        'domain_prefix': settings.DOMAIN_PREFIX,
    }
    for service in settings.SERVICES:
        values[f'as_{service}'] = _credentials(cloud, service)
    return values


def _credentials(cloud: settings.Settings, user: str) -> str:
    values = {'user': user, 'auth_url': cloud.auth_url,
              'password': settings.PASSWORD, 'region': settings.REGION}
    return _fill('credentials.conf', values).rstrip()


def _api_paste(plugin: bool) -> str:
    """Nova's packaged pipelines; with the plugin, our filter before the app.

    Both pipelines end in the same application, so one replacement does.
    """
    packaged = (PACKAGED / 'nova' / 'api-paste.ini').read_text()
    if not plugin:
        return packaged
    extended = packaged.replace(
        ' osapi_compute_app_v21\n', ' nova_rt osapi_compute_app_v21\n')
    return extended + _fill('api-paste-plugin.ini', {})


def _fill(template: str, values: dict[str, str]) -> str:
    text = (TEMPLATES / template).read_text()
    return string.Template(text).substitute(values)


def _write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _append(path: pathlib.Path, text: str) -> None:
    with path.open('a') as file:
        file.write(f'\n{text}')
