# SPDX-License-Identifier: Apache-2.0

"""Runs in Tacker: the answers of its v2 API to requests.

JSON in: a list of {operation, body}.  JSON out: for each null, or why it
would be answered with 400.
"""


import serving
from tacker.sol_refactored.api.schemas import vnflcm_v2
from tacker.sol_refactored.api import validator
from tacker.sol_refactored.common import exceptions

_SCHEMAS = {
    'instantiate': vnflcm_v2.InstantiateVnfRequest_V200,
    'scale': vnflcm_v2.ScaleVnfRequest_V200,
    'heal': vnflcm_v2.HealVnfRequest_V200,
    'change': vnflcm_v2.ChangeCurrentVnfPkgRequest_V200,
}


def examine(case):
    try:
        validator.SolSchemaValidator(
            _SCHEMAS[case['operation']]).validate(case['body'])
    except exceptions.SolValidationError as error:
        return error.detail
    return None


if __name__ == '__main__':
    serving.serve(examine)
