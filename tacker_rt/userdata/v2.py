# SPDX-License-Identifier: Apache-2.0

"""User data for Tacker's v2 API; packages need no file of it.

A request names it by the path Tacker imports it from, and a class::

    "lcm-operation-user-data": "tacker_rt/userdata/v2.py",
    "lcm-operation-user-data-class": "RtDefaultUserData"

The classes add to those of Tacker the reservations that the VNFD asks for
(see :mod:`tacker_rt.vnfd`), wherever these hand a template to Heat.  Tacker
runs them in a process of their own and reports what it writes to stderr
where it fails: one sentence, instead of a traceback.
"""

from collections.abc import Mapping
import logging
import sys
from typing import Any

from tacker.common import utils
from tacker.sol_refactored.common import common_script_utils
from tacker.sol_refactored.common import vnf_instance_utils
from tacker.sol_refactored.infra_drivers.openstack import userdata_default
from tacker.sol_refactored.infra_drivers.openstack import userdata_standard
import yaml

from tacker_rt import exception
from tacker_rt.userdata import inject
from tacker_rt import vnfd

LOG = logging.getLogger(__name__)

Json = dict[str, Any]


def _persisted(inst: Json) -> Json:
    """What the stack has as its parameter nfv, requests of before in it."""
    info = inst.get('instantiatedVnfInfo') or {}
    nfv: Json = (info.get('metadata') or {}).get('nfv') or {}
    return nfv


def _vdus(package: Any, flavour: str, req: Json, inst: Json
          ) -> dict[str, vnfd.Vdu]:
    """:raises InvalidVnfd: a reservation is wrong"""
    asked = (req.get('additionalParams') or {}).get('nfv') or {}
    nfv = vnf_instance_utils.json_merge_patch(_persisted(inst), asked)
    vdus = vnfd.read_package(package.definitions, flavour=flavour,
                             request={'nfv': nfv})
    for vdu in vdus.values():
        if vdu.source:
            LOG.info('VDU %s: %s from %s, carried by %s', vdu.name,
                     vdu.reservation or dict(vdu.hints), vdu.source,
                     vdu.carrier)
    return vdus


def _sizes(package: Any, flavour: str) -> inject.Sizes:
    """As heat-translator makes a flavor of a VDU."""
    sizes = {}
    for name, node in package.get_vdu_nodes(flavour).items():
        wanted = node['capabilities']['virtual_compute']['properties']
        convert = utils.MemoryUnit.convert_unit_size_to_num
        storage = wanted.get('virtual_local_storage') or [
            {'size_of_storage': '0 GiB'}]
        sizes[name] = {
            'vcpus': wanted['virtual_cpu']['num_virtual_cpu'],
            'ram': convert(wanted['virtual_memory']['virtual_mem_size'],
                           'MiB'),
            'disk': convert(storage[0]['size_of_storage'], 'GiB')}
    return sizes


def _inject(fields: Json, package: Any, flavour: str,
            vdus: Mapping[str, vnfd.Vdu]) -> None:
    """Change template and files, which are YAML in *fields*."""
    template = yaml.safe_load(fields['template'])
    files = {name: yaml.safe_load(text)
             for name, text in fields.get('files', {}).items()}
    served = inject.hints([template, *files.values()], vdus)
    inject.flavors(template, vdus, _sizes(package, flavour))
    if 'files' in fields:
        inject.check(template, vdus, served)
        fields['files'] = {name: yaml.safe_dump(content)
                           for name, content in files.items()}
    fields['template'] = yaml.safe_dump(template)


def _reserve(fields: Json, vnfd_id: str, req: Json, inst: Json,
             tmp_csar_dir: str) -> Json:
    """Where fields have no template, the stack keeps the one it has."""
    if 'template' not in fields:
        return fields
    package = common_script_utils.get_vnfd(vnfd_id, tmp_csar_dir)
    flavour = _flavour(req, inst)
    try:
        _inject(fields, package, flavour,
                _vdus(package, flavour, req, inst))
    except exception.TackerRTError as error:
        sys.exit(f'tacker_rt: {error}')
    return fields


def _flavour(req: Json, inst: Json) -> str:
    """Only a request to instantiate names one."""
    flavour: str = (req.get('flavourId')
                    or inst['instantiatedVnfInfo']['flavourId'])
    return flavour


def _reserve_anew(fields: Json, vnfd_id: str, req: Json, inst: Json,
                  tmp_csar_dir: str) -> Json:
    """With the templates of a package, as a patch of the stack's."""
    package = common_script_utils.get_vnfd(vnfd_id, tmp_csar_dir)
    hot = package.get_base_hot(_flavour(req, inst))
    common_script_utils.apply_ext_managed_vls_from_inst(hot['template'], inst)
    fields['template'] = yaml.safe_dump(hot['template'])
    fields['files'] = {name: yaml.safe_dump(content)
                       for name, content in hot.get('files', {}).items()}
    _keep_made_flavors(fields, inst)
    _reserve(fields, vnfd_id, req, inst, tmp_csar_dir)
    template = yaml.safe_load(fields['template'])
    inject.as_patch(template)
    fields['template'] = yaml.safe_dump(template)
    return fields


def _keep_made_flavors(fields: Json, inst: Json) -> None:
    """A roll hands members of a scaling group the flavor they have.

    Tacker takes it from the parameters, where a flavor that the template
    makes has no name.
    """
    wanted = fields['parameters']['nfv'].get('VDU', {})
    for vnfc in inst['instantiatedVnfInfo'].get('vnfcResourceInfo', ()):
        values = wanted.get(vnfc['vduId'], {})
        if ('computeFlavourId' in values
                and values['computeFlavourId'] is None):
            values['computeFlavourId'] = vnfc['metadata'].get('flavor')


class RtDefaultUserData(userdata_default.DefaultUserData):
    """One resource, or one scaling group, for each VDU."""

    @staticmethod
    def instantiate(req: Json, inst: Json, grant_req: Json, grant: Json,
                    tmp_csar_dir: str) -> Json:
        fields = userdata_default.DefaultUserData.instantiate(
            req, inst, grant_req, grant, tmp_csar_dir)
        # Tacker reads it from the stack, even where nothing needs it.
        fields['parameters']['nfv'].setdefault('VDU', {})
        return _reserve(fields, inst['vnfdId'], req, inst, tmp_csar_dir)

    @staticmethod
    def change_vnfpkg(req: Json, inst: Json, grant_req: Json, grant: Json,
                      tmp_csar_dir: str) -> Json:
        """Unlike Tacker's, sends the templates of the new package, too.

        Else the stack would keep the hints of the old one.
        """
        fields = userdata_default.DefaultUserData.change_vnfpkg(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve_anew(fields, grant_req['dstVnfdId'], req, inst,
                             tmp_csar_dir)

    @staticmethod
    def change_vnfpkg_rollback(req: Json, inst: Json, grant_req: Json,
                               grant: Json, tmp_csar_dir: str) -> Json:
        """Without what the failed request asked for."""
        fields = userdata_default.DefaultUserData.change_vnfpkg_rollback(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve_anew(fields, inst['vnfdId'], {}, inst, tmp_csar_dir)


class RtStandardUserData(userdata_standard.StandardUserData):
    """One resource for each instance of a VDU: VDU1-0, VDU1-1 ..."""

    @staticmethod
    def instantiate(req: Json, inst: Json, grant_req: Json, grant: Json,
                    tmp_csar_dir: str) -> Json:
        fields = userdata_standard.StandardUserData.instantiate(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve(fields, inst['vnfdId'], req, inst, tmp_csar_dir)

    @staticmethod
    def scale(req: Json, inst: Json, grant_req: Json, grant: Json,
              tmp_csar_dir: str) -> Json:
        """New instances get what those before them have."""
        fields = userdata_standard.StandardUserData.scale(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve(fields, inst['vnfdId'], {}, inst, tmp_csar_dir)

    @staticmethod
    def change_vnfpkg(req: Json, inst: Json, grant_req: Json, grant: Json,
                      tmp_csar_dir: str) -> Json:
        fields = userdata_standard.StandardUserData.change_vnfpkg(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve(fields, grant_req['dstVnfdId'], req, inst,
                        tmp_csar_dir)

    @staticmethod
    def change_vnfpkg_rollback(req: Json, inst: Json, grant_req: Json,
                               grant: Json, tmp_csar_dir: str) -> Json:
        fields = userdata_standard.StandardUserData.change_vnfpkg_rollback(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve(fields, inst['vnfdId'], {}, inst, tmp_csar_dir)
