# SPDX-License-Identifier: Apache-2.0

"""Turns a VDU into commands that create the server as Heat would."""

import subprocess
import sys
from typing import Any

import yaml

from cloud import settings

SAMPLE = 'tosca-samples/legacy/inputs.yaml'


def translate() -> str:
    """Returns the Heat template that ``tacker-rt translate`` prints."""
    return subprocess.run(
        [f'{sys.prefix}/bin/tacker-rt', 'translate', SAMPLE],
        cwd=settings.PROJECT, check=True, stdout=subprocess.PIPE,
        text=True).stdout


def commands(hot: str, image: str, ram: int) -> list[str]:
    """Returns the openstack commands for its resources, flavors first.

    :param image: an image of this cloud, instead of the descriptor's image
    :param ram: MiB that the image needs, if the descriptor has less
    """
    template = yaml.safe_load(hot)
    values = {name: parameter.get('default') for name, parameter
              in template['parameters'].items()}
    lines = []
    for name, resource in sorted(template['resources'].items(),
                                 key=lambda item: item[1]['type']):
        properties = _resolved(resource['properties'], values)
        if resource['type'] == 'OS::Nova::Flavor':
            # The server needs no disk besides the image of the cloud.
            lines.append(f'flavor create {name} '
                         f'--vcpus {properties["vcpus"]} '
                         f'--ram {max(ram, properties["ram"])} --disk 0')
        else:
            hints = ' '.join(f'--hint {key}={value}' for key, value
                             in properties['scheduler_hints'].items())
            lines.append(f'server create --flavor {properties["flavor"]} '
                         f'--image {image} --nic none {hints} {name}')
    return lines


def _resolved(value: Any, parameters: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if 'get_param' in value:
        return parameters[value['get_param']]
    if 'get_resource' in value:
        return value['get_resource']
    return {key: _resolved(each, parameters) for key, each in value.items()}
