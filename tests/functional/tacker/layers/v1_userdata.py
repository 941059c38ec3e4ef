# SPDX-License-Identifier: Apache-2.0

"""Runs in Tacker: v1 user data's results, read as the v1 driver does.

JSON in: a list of {root, flavour, request}.  JSON out: for each {template,
files, parameters} for Heat.  To instantiate, Tacker imports the class by its
module name; to heal and to scale it reads the file.
"""

import importlib.util
import os
from pathlib import Path
import sys

import serving
from tacker import objects
from tacker.vnflcm import utils as vnflcm_utils
import yaml


def _by_name(path, root):
    sys.path.append(root)
    return importlib.import_module(
        os.path.splitext(path.lstrip('./'))[0].replace('/', '.'))


def _by_file(path, root):
    spec = importlib.util.spec_from_file_location(
        os.path.splitext(os.path.basename(path))[0], root + '/' + path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def examine(case):
    root, flavour = case['root'], case['flavour']
    asked = case['request']['additionalParams']
    path = asked['lcm-operation-user-data']
    name = asked['lcm-operation-user-data-class']
    of_file = getattr(_by_file(path, root), name)
    user_data = getattr(_by_name(path, root), name)
    if of_file is not user_data:
        raise AssertionError('the stub has a class of its own')
    template = Path(root, 'BaseHOT', flavour, 'hot.yaml').read_text()
    parameters = user_data.instantiate(
        {'heat_template': yaml.safe_load(template)},
        vnflcm_utils._get_flavour_based_vnfd(root, flavour),
        objects.InstantiateVnfRequest(
            flavour_id=flavour, ext_virtual_links=[],
            additional_params=asked), {})
    return {'template': template, 'files': {}, 'parameters': parameters}


def main():
    objects.register_all()
    serving.serve(examine)


if __name__ == '__main__':
    main()
