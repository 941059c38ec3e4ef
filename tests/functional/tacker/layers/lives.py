# SPDX-License-Identifier: Apache-2.0

"""Runs in Tacker and Heat: lives of VNFs, operation by operation.

JSON in: a list of {packages, flavors, steps}: CSARs by name, of which the
first is instantiated; extra specs by flavor; and steps {operation, body,
fail, then}, in which *fail* is the number of the step of Heat that fails and
*then* what is done about it.  In a body ``{"vnfd": NAME}`` is the descriptor
of a package and ``{"vnfc": VDU}`` the newest server of a VDU.

JSON out: for each step {refused, state, then, error, servers, masks, kept,
stack, made, heat}: reservations of all servers by VDU; the masks of their
flavors, by VDU, where there are any; what the database of Tacker
and the stack keep of what was asked for, by VDU; how many servers were made
since; and the steps of Heat.
"""

import contextlib
import tempfile
from unittest import mock

from heat.engine import resources
from heat.engine import stk_defn
from heat.engine import translation
import heat_bodies
import heat_memory
from oslo_config import cfg
import serving
from tacker.sol_refactored.common import exceptions as sol_ex
import tacker_memory

_KEYS = ('cpu.rt_runtime_us', 'cpu.rt_period_us')
_OURS = (*_KEYS, 'cpu.rt_carrier')


class _Life:

    def __init__(self, tacker, case, known):
        self.tacker = tacker
        self.heat = tacker.heat = heat_memory.Heat(case['flavors'])
        self.packages = {name: known(csar)
                         for name, csar in case['packages'].items()}
        self.vnf = tacker.create(next(iter(self.packages.values())))
        self.seen = set()

    def step(self, operation, body, fail=None, then=None):
        self.heat.order_failure(fail)
        told = dict.fromkeys(('refused', 'state', 'then', 'error'))
        try:
            done = self.tacker.operate(self.vnf, operation,
                                       self._filled(body))
        except sol_ex.SolException as error:
            told['refused'] = error.detail
        else:
            told['state'] = done.operationState
            if done.obj_attr_is_set('error') and done.error:
                told['error'] = done.error.detail
            heat = self.heat.steps
            self.heat.order_failure(None)
            if then and done.operationState == 'FAILED_TEMP':
                done = self.tacker.afterwards(done, then)
                told['then'] = done.operationState
            self.heat.steps = heat
        return {**told, **self._state()}

    def _filled(self, value):
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {'vnfd'}:
            return self.packages[value['vnfd']]
        if set(value) == {'vnfc'}:
            return next(one.id for one in self.tacker.instance(
                self.vnf).instantiatedVnfInfo.vnfcInfo
                if one.vduId == value['vnfc'])
        return {key: self._filled(item) for key, item in value.items()}

    def _state(self):
        instance = self.tacker.instance(self.vnf)
        stack = {}
        info = instance.to_dict().get('instantiatedVnfInfo', {})
        kept = info.get('metadata', {}).get('nfv', {})
        for one in self.heat.stacks.values():
            stack = one.parameters.get('nfv', {})
        servers, masks = {}, {}
        new = 0
        for server in self.heat.servers():
            servers.setdefault(server.name, []).append(
                self._reservation(server))
            if mask := self._specs(server).get('hw:cpu.rt_mask'):
                masks.setdefault(server.name, []).append(mask)
            new += server.id not in self.seen
            self.seen.add(server.id)
        return {'servers': {vdu: sorted(found, key=str)
                            for vdu, found in servers.items()},
                'masks': masks,
                'kept': _ours(kept), 'stack': _ours(stack), 'made': new,
                'heat': self.heat.steps}

    def _reservation(self, server):
        """Returns Nova's reservation: hints win over the flavor by key."""
        specs = self._specs(server)
        hints = server.properties['scheduler_hints'] or {}
        return [hints.get(key, specs.get(f'hw:{key}')) for key in _KEYS]

    def _specs(self, server):
        return self.heat.flavors.get(server.properties['flavor']) or {}


def _ours(nfv):
    found = {vdu: {key: value for key, value in values.items()
                   if key in _OURS}
             for vdu, values in nfv.get('VDU', {}).items()}
    return {vdu: values for vdu, values in found.items() if values}


def main():
    cfg.CONF([], project='heat', default_config_files=[],
             default_config_dirs=[])
    resources.initialise()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack(
            ) as stack:
        tacker = tacker_memory.Tacker(folder)
        onboarded = {}

        def known(csar):
            if csar not in onboarded:
                onboarded[csar] = tacker.onboard(csar)
            return onboarded[csar]

        def examine(case):
            life = _Life(tacker, case, known)
            return [life.step(**step) for step in case['steps']]

        for one in (
                *heat_memory.patched(), *tacker.patched(),
                mock.patch.object(translation, 'resolve_and_find',
                                  heat_bodies._find),
                mock.patch.object(stk_defn.ResourceProxy, 'FnGetRefId',
                                  heat_bodies._reference)):
            stack.enter_context(one)
        serving.serve(examine)


if __name__ == '__main__':
    main()
