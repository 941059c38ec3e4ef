# SPDX-License-Identifier: Apache-2.0

"""Runs in Tacker: tells whether Tacker accepts packages.

JSON in: a list of {name, csar, directory}.  JSON out: for each null, or why
it refuses the package.
"""

import serving
from tacker.common import csar_utils


def examine(case):
    csar_utils.CONF.set_override('vnf_package_csar_path', case['directory'],
                                 'vnf_package')
    try:
        csar_utils.load_csar_data(None, case['name'], case['csar'])
    except Exception as error:
        return f'{type(error).__name__}: {error}'


if __name__ == '__main__':
    serving.serve(examine)
