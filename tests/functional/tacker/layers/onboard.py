# SPDX-License-Identifier: Apache-2.0

"""Runs in Tacker: what it reads from packages at on-boarding.

JSON in: a list of {name, csar, directory}; each CSAR is unpacked into the
directory of its name in the given one.  JSON out: for each {vnfd, flavours,
root, vdus}, with what goes into the database, the place it was unpacked to,
and the VDUs that the v2 API sees in each deployment flavour.
"""

import os

import serving
from tacker.common import csar_utils
from tacker.sol_refactored.common import vnfd_utils


def examine(case):
    csar_utils.CONF.set_override('vnf_package_csar_path', case['directory'],
                                 'vnf_package')
    data, flavours, _artifacts = csar_utils.load_csar_data(
        None, case['name'], case['csar'])
    root = os.path.join(case['directory'], case['name'])
    package = vnfd_utils.Vnfd(data['descriptor_id'])
    package.init_from_csar_dir(root)
    names = [flavour['flavour_id'] for flavour in flavours]
    return {'vnfd': data, 'flavours': names, 'root': root,
            'vdus': {name: sorted(package.get_vdu_nodes(name))
                     for name in names}}


if __name__ == '__main__':
    serving.serve(examine)
