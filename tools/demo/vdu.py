# SPDX-License-Identifier: Apache-2.0

"""A VDU of a VNF descriptor as a server: what Heat would ask Nova for."""

import subprocess
import sys
from typing import Any

import yaml

from cloud import settings

SAMPLE = 'tosca-samples/legacy/inputs.yaml'


def translate() -> str:
    """The Heat template that ``tacker-rt translate`` prints."""
    return subprocess.run(
        [f'{sys.prefix}/bin/tacker-rt', 'translate', SAMPLE],
        cwd=settings.PROJECT, check=True, stdout=subprocess.PIPE,
        text=True).stdout


def commands(hot: str, image: str, ram: int) -> list[str]:
    """What its resources are on openstack's command line, flavors first.

    :param image: of this cloud, instead of the descriptor's
    :param ram: MiB that the image needs, if the descriptor has less
    """
    template = yaml.safe_load(hot)
    values = {name: parameter.get('default') for name, parameter
              in template['parameters'].items()}
    found = []
    for name, resource in sorted(template['resources'].items(),
                                 key=lambda item: item[1]['type']):
        properties = _resolved(resource['properties'], values)
        if resource['type'] == 'OS::Nova::Flavor':
            # The image of the cloud is all the disk there is.
            found.append(f'flavor create {name} '
                         f'--vcpus {properties["vcpus"]} '
                         f'--ram {max(ram, properties["ram"])} --disk 0')
        else:
            hints = ' '.join(f'--hint {key}={value}' for key, value
                             in properties['scheduler_hints'].items())
            found.append(f'server create --flavor {properties["flavor"]} '
                         f'--image {image} --nic none {hints} {name}')
    return found


def _resolved(value: Any, parameters: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if 'get_param' in value:
        return parameters[value['get_param']]
    if 'get_resource' in value:
        return value['get_resource']
    return {key: _resolved(each, parameters) for key, each in value.items()}
