# SPDX-License-Identifier: Apache-2.0

"""Life-cycle operations of Tacker's v2 API, up to the user data.

Tacker's own ``userdata_main.py`` runs as in a conductor.  This module merges
its result, which would be sent to Heat, as the driver does.
"""

import importlib.util
import json
from pathlib import Path
import pickle
import subprocess
import sys

import yaml

_DRIVER = 'sol_refactored/infra_drivers/openstack'
_TACKER = Path(importlib.util.find_spec('tacker').origin).parent


class Failed(Exception):
    """The message to the operator."""


def call(operation, request, instance, root, rollback=False, **grant):
    """The fields that the user data class returns."""
    parameters = request.setdefault('additionalParams', {})
    parameters.setdefault('lcm-operation-user-data',
                          f'tacker/{_DRIVER}/userdata_default.py')
    parameters.setdefault('lcm-operation-user-data-class', 'DefaultUserData')
    done = subprocess.run(
        [sys.executable, _TACKER / _DRIVER / 'userdata_main.py'],
        input=pickle.dumps({
            'request': request, 'vnf_instance': instance,
            'grant_request': {'operation': operation, **grant},
            'grant_response': {}, 'tmp_csar_dir': root,
            'is_rollback': rollback}),
        capture_output=True, check=False)
    if done.returncode:
        raise Failed(done.stderr.decode())
    return pickle.loads(done.stdout)  # noqa: S301


def merge_patch(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def _id(package):
    return package['vnfd']['descriptor_id']


class Vnf:
    """An instance of a package, and the stack that Heat would have."""

    def __init__(self, package, vdu='VDU1'):
        self.package = package
        self.vdu = vdu
        self.stack = None
        self.instance = {'id': 'vnf', 'vnfdId': _id(package)}
        self._count = 0

    def instantiate(self, request, count=1):
        added = self._computes(count)
        fields = call('INSTANTIATE', request, self.instance,
                      self.package['root'], addResources=added)
        self.stack = {'template': fields['template'],
                      'files': fields['files'],
                      'nfv': fields['parameters']['nfv']}
        self._update(added)

    def scale(self, request):
        resources = {'addResources': self._computes(1)}
        if request['type'] == 'SCALE_IN':
            resources = {'removeResources': self._newest()}
        fields = call('SCALE', request, self.instance, self.package['root'],
                      **resources)
        self._patch(fields)
        self._update(resources.get('addResources', ()))

    def heal(self, request):
        fields = call('HEAL', request, self.instance, self.package['root'],
                      removeResources=self._newest(),
                      addResources=self._computes(1))
        self._patch(fields)

    def change_package(self, request, package):
        fields = call('CHANGE_VNFPKG', request, self.instance,
                      package['root'], dstVnfdId=_id(package),
                      removeResources=self._newest())
        self._patch(fields)

    def roll_back_package(self, request):
        fields = call('CHANGE_VNFPKG', request, self.instance,
                      self.package['root'], rollback=True,
                      removeResources=self._newest())
        self._patch(fields)

    def _computes(self, count):
        return [{'id': f'add{n}', 'type': 'COMPUTE',
                 'resourceTemplateId': self.vdu} for n in range(count)]

    def _newest(self):
        server = self._servers()[-1]
        return [{'id': 'remove', 'type': 'COMPUTE',
                 'resourceTemplateId': self.vdu,
                 'resource': server['computeResource']}]

    def _servers(self):
        return self.instance['instantiatedVnfInfo']['vnfcResourceInfo']

    def _patch(self, fields):
        if not fields.get('existing', True):
            self.stack.update(template=fields['template'],
                              files=fields['files'],
                              nfv=fields['parameters']['nfv'])
            return
        self.stack['files'].update(fields.get('files', {}))
        if 'template' in fields:
            self.stack['template'] = yaml.safe_dump(merge_patch(
                yaml.safe_load(self.stack['template']),
                yaml.safe_load(fields['template'])))
        self.stack['nfv'] = merge_patch(
            self.stack['nfv'], fields.get('parameters', {}).get('nfv', {}))

    def _update(self, added):
        info = self.instance.setdefault('instantiatedVnfInfo', {
            'flavourId': 'simple', 'vnfcResourceInfo': []})
        # The value as Tacker reads it back from Heat.
        info['metadata'] = {'nfv': json.loads(json.dumps(self.stack['nfv']))}
        for _ in added:
            info['vnfcResourceInfo'].append({
                'id': f'vnfc{self._count}', 'vduId': self.vdu,
                'computeResource': {'resourceId': f'server{self._count}'},
                'metadata': {'vdu_idx': self._count, 'flavor': 'its-flavor'}})
            self._count += 1

    def heat_case(self):
        """Returns the stack in the form that the layer of Heat takes."""
        return {'template': self.stack['template'],
                'files': dict(self.stack['files']),
                'parameters': {'nfv': self.stack['nfv']}}
