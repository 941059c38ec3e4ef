# SPDX-License-Identifier: Apache-2.0

"""User data for Tacker's v2 API; packages need no file for it.

A request names this module by the path from which Tacker imports it, and
one of the classes::

    "lcm-operation-user-data": "tacker_rt/userdata/v2.py",
    "lcm-operation-user-data-class": "RtDefaultUserData"

The classes extend those of Tacker: wherever they hand a template to Heat,
they add the reservations that the VNFD asks for (see
:mod:`tacker_rt.vnfd.descriptor`).  A reservation that a request to
instantiate, or to change the package, asks for is given to all servers of a
VDU and kept.  Any other request that asks for a reservation is refused,
because its template reaches only some of the servers.

Tacker runs the classes in a separate process.  If the process fails, Tacker
reports the standard error of the process.  The classes write one sentence
there instead of a traceback.
"""

from collections.abc import Mapping
import dataclasses
import functools
import logging
import sys
from typing import Any, NoReturn

from tacker.common import utils
from tacker.sol_refactored.common import common_script_utils
from tacker.sol_refactored.infra_drivers.openstack import userdata_default
from tacker.sol_refactored.infra_drivers.openstack import userdata_standard
import yaml

from tacker_rt import exception
from tacker_rt import problem
from tacker_rt.userdata import inject
from tacker_rt.vnfd import asked
from tacker_rt.vnfd import descriptor

LOG = logging.getLogger(__name__)

Json = dict[str, Any]


def _persisted(inst: Json) -> Json:
    """Returns the parameter nfv of the stack, with earlier requests."""
    info = inst.get('instantiatedVnfInfo') or {}
    nfv: Json = (info.get('metadata') or {}).get('nfv') or {}
    return nfv


#: A request and the grant of the NFVO, whose parameters win in Tacker.
_Asked = tuple[asked.Asked, ...]


def _sources(req: Json, grant: Json) -> _Asked:
    return tuple(
        asked.Asked(where, body.get('additionalParams') or {})
        for where, body in ((asked.REQUEST, req), (asked.GRANT, grant)))


def _fail(error: exception.TackerRTError) -> NoReturn:
    """Ends the process with one sentence on standard error.

    An empty line separates the sentence from the output of other code.
    """
    reason = error.kwargs.get('problem')
    if reason is not None and reason.file == asked.KEPT:
        reason = dataclasses.replace(
            reason, advice='ask for another value, or for null, when you '
            'change the package')
    sys.exit(f'\ntacker_rt: {reason or error}')


def _refuse_wishes(req: Json, grant: Json, purpose: str) -> None:
    for source in _sources(req, grant):
        for vdu, key, value in source.wishes():
            _fail(exception.InvalidVnfd(problem=problem.Problem(
                source.where, f'a request to {purpose} cannot ask for a '
                'reservation', 'ask for the reservation when you instantiate '
                'the VNF or change its package', vdu=vdu,
                key=problem.name(key), value=problem.shown(value))))


def _vdus(package: Any, flavour: str, wishes: _Asked, inst: Json
          ) -> dict[str, descriptor.Vdu]:
    """Returns the VDUs with their reservations.

    :raises InvalidVnfd: when a reservation is not valid
    """
    kept = asked.Asked(asked.KEPT, {'nfv': _persisted(inst)})
    vdus = descriptor.read_package(package.definitions, flavour=flavour,
                                   request=(kept, *wishes))
    for vdu in vdus.values():
        if vdu.source:
            LOG.info('VDU %s: %s from %s, carried by %s', vdu.name,
                     vdu.reservation or dict(vdu.hints), vdu.source,
                     vdu.carrier)
    return vdus


def _size(package: Any, flavour: str, name: str) -> dict[str, int]:
    """Returns the size of the flavor that heat-translator makes for a VDU.

    :raises InvalidVnfd: when the size is missing or is not a number
    """
    node = package.get_vdu_nodes(flavour)[name]
    convert = utils.MemoryUnit.convert_unit_size_to_num
    try:
        compute = node['capabilities']['virtual_compute']['properties']
        storage = compute.get('virtual_local_storage') or [
            {'size_of_storage': '0 GiB'}]
        return {
            'vcpus': int(compute['virtual_cpu']['num_virtual_cpu']),
            'ram': convert(compute['virtual_memory']['virtual_mem_size'],
                           'MiB'),
            'disk': convert(storage[0]['size_of_storage'], 'GiB')}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise exception.InvalidVnfd(problem=problem.Problem(
            'VNFD', 'virtual_compute does not give the size of the flavor '
            'that carries the reservation', 'give values for '
            'num_virtual_cpu, virtual_mem_size and size_of_storage, or use '
            'the carrier hints', vdu=name)) from error


def _inject(fields: Json, vdus: Mapping[str, descriptor.Vdu],
            size: inject.Size, numbered: bool, vnf: str) -> None:
    """Adds reservations to the template and files, which are YAML texts."""
    template = yaml.safe_load(fields['template'])
    files = {name: yaml.safe_load(text)
             for name, text in fields.get('files', {}).items()}
    served = inject.hints(template, vdus, numbered)
    for nested in files.values():
        served |= inject.hints(nested, vdus)
    made = inject.flavors(template, vdus, size, numbered)
    inject.open_guard(template)
    for content in (template, *files.values()):
        inject.metadata(content, vnf)
    if 'files' in fields:
        inject.check(vdus, served, made)
        fields['files'] = {name: yaml.safe_dump(content)
                           for name, content in files.items()}
    fields['template'] = yaml.safe_dump(template)


def _reserve(fields: Json, vnfd_id: str, wishes: _Asked, flavour: str,
             inst: Json, tmp_csar_dir: str, numbered: bool = False) -> Json:
    """Adds reservations to the template of *fields*, if there is one.

    Without a template in *fields*, the stack keeps its own template.
    """
    if 'template' not in fields:
        return fields
    package = common_script_utils.get_vnfd(vnfd_id, tmp_csar_dir)
    try:
        _inject(fields, _vdus(package, flavour, wishes, inst),
                functools.partial(_size, package, flavour), numbered,
                inst['id'])
    except exception.TackerRTError as error:
        _fail(error)
    return fields


def _flavour(inst: Json) -> str:
    flavour: str = inst['instantiatedVnfInfo']['flavourId']
    return flavour


def _reserve_anew(fields: Json, vnfd_id: str, wishes: _Asked, inst: Json,
                  tmp_csar_dir: str) -> Json:
    """Adds reservations to the templates of a package, as a patch.

    The patch changes the templates of the stack.
    """
    package = common_script_utils.get_vnfd(vnfd_id, tmp_csar_dir)
    hot = package.get_base_hot(_flavour(inst))
    common_script_utils.apply_ext_managed_vls_from_inst(hot['template'], inst)
    fields['template'] = yaml.safe_dump(hot['template'])
    fields['files'] = {name: yaml.safe_dump(content)
                       for name, content in hot.get('files', {}).items()}
    _keep_made_flavors(fields, inst)
    _reserve(fields, vnfd_id, wishes, _flavour(inst), inst, tmp_csar_dir)
    template = yaml.safe_load(fields['template'])
    try:
        inject.as_patch(template)
    except exception.TackerRTError as error:
        _fail(error)
    fields['template'] = yaml.safe_dump(template)
    return fields


def _keep(fields: Json, wishes: _Asked, kept: Json | None = None) -> None:
    """Puts wishes into the parameter nfv, as a patch of the parameter.

    :param kept: an earlier parameter nfv, whose values are restored instead
        of setting the wishes
    """
    vdus = fields['parameters']['nfv'].setdefault('VDU', {})
    for source in wishes:
        for vdu, key, value in source.wishes():
            if kept is not None:
                value = kept.get('VDU', {}).get(vdu, {}).get(key)
            vdus.setdefault(vdu, {})[key] = value


def _keep_made_flavors(fields: Json, inst: Json) -> None:
    """Gives members of a scaling group the flavor that they have.

    Tacker takes the flavor from the parameters, where a flavor that is made
    by the template has no name.
    """
    vdus = fields['parameters']['nfv'].get('VDU', {})
    for vnfc in inst['instantiatedVnfInfo'].get('vnfcResourceInfo', ()):
        values = vdus.get(vnfc['vduId'], {})
        if ('computeFlavourId' in values
                and values['computeFlavourId'] is None):
            values['computeFlavourId'] = vnfc['metadata'].get('flavor')


class RtDefaultUserData(userdata_default.DefaultUserData):
    """User data for templates with one resource or group for each VDU."""

    @staticmethod
    def instantiate(req: Json, inst: Json, grant_req: Json, grant: Json,
                    tmp_csar_dir: str) -> Json:
        fields = userdata_default.DefaultUserData.instantiate(
            req, inst, grant_req, grant, tmp_csar_dir)
        # Tacker reads this key from the stack, even if it is not needed.
        fields['parameters']['nfv'].setdefault('VDU', {})
        return _reserve(fields, inst['vnfdId'], _sources(req, grant),
                        req['flavourId'], inst, tmp_csar_dir)

    @staticmethod
    def scale(req: Json, inst: Json, grant_req: Json, grant: Json,
              tmp_csar_dir: str) -> Json:
        _refuse_wishes(req, grant, 'scale')
        fields: Json = userdata_default.DefaultUserData.scale(
            req, inst, grant_req, grant, tmp_csar_dir)
        return fields

    @staticmethod
    def heal(req: Json, inst: Json, grant_req: Json, grant: Json,
             tmp_csar_dir: str) -> Json:
        _refuse_wishes(req, grant, 'heal')
        fields: Json = userdata_default.DefaultUserData.heal(
            req, inst, grant_req, grant, tmp_csar_dir)
        return fields

    @staticmethod
    def change_ext_conn(req: Json, inst: Json, grant_req: Json, grant: Json,
                        tmp_csar_dir: str) -> Json:
        _refuse_wishes(req, grant, 'change connectivity')
        fields: Json = userdata_default.DefaultUserData.change_ext_conn(
            req, inst, grant_req, grant, tmp_csar_dir)
        return fields

    @staticmethod
    def change_vnfpkg(req: Json, inst: Json, grant_req: Json, grant: Json,
                      tmp_csar_dir: str) -> Json:
        """Sends the templates, and keeps the wishes for later requests.

        Tacker's own class does neither: with it, the stack would keep the
        hints of the old package, and a later change would not know the earlier
        wishes.
        """
        fields = userdata_default.DefaultUserData.change_vnfpkg(
            req, inst, grant_req, grant, tmp_csar_dir)
        wishes = _sources(req, grant)
        _keep(fields, wishes)
        return _reserve_anew(fields, grant_req['dstVnfdId'], wishes, inst,
                             tmp_csar_dir)

    @staticmethod
    def change_vnfpkg_rollback(req: Json, inst: Json, grant_req: Json,
                               grant: Json, tmp_csar_dir: str) -> Json:
        """Restores the values that applied before the failed request."""
        fields = userdata_default.DefaultUserData.change_vnfpkg_rollback(
            req, inst, grant_req, grant, tmp_csar_dir)
        _keep(fields, _sources(req, grant), _persisted(inst))
        return _reserve_anew(fields, inst['vnfdId'], (), inst, tmp_csar_dir)


class RtStandardUserData(userdata_standard.StandardUserData):
    """User data for templates with one resource for each instance of a VDU.

    The names of the resources are VDU1-0, VDU1-1 and so on.
    """

    @staticmethod
    def instantiate(req: Json, inst: Json, grant_req: Json, grant: Json,
                    tmp_csar_dir: str) -> Json:
        fields = userdata_standard.StandardUserData.instantiate(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve(fields, inst['vnfdId'], _sources(req, grant),
                        req['flavourId'], inst, tmp_csar_dir, numbered=True)

    @staticmethod
    def scale(req: Json, inst: Json, grant_req: Json, grant: Json,
              tmp_csar_dir: str) -> Json:
        """Gives new instances the reservation that the others have."""
        _refuse_wishes(req, grant, 'scale')
        fields = userdata_standard.StandardUserData.scale(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve(fields, inst['vnfdId'], (), _flavour(inst), inst,
                        tmp_csar_dir, numbered=True)

    @staticmethod
    def heal(req: Json, inst: Json, grant_req: Json, grant: Json,
             tmp_csar_dir: str) -> Json:
        _refuse_wishes(req, grant, 'heal')
        fields: Json = userdata_standard.StandardUserData.heal(
            req, inst, grant_req, grant, tmp_csar_dir)
        return fields

    @staticmethod
    def change_ext_conn(req: Json, inst: Json, grant_req: Json, grant: Json,
                        tmp_csar_dir: str) -> Json:
        _refuse_wishes(req, grant, 'change connectivity')
        fields: Json = userdata_standard.StandardUserData.change_ext_conn(
            req, inst, grant_req, grant, tmp_csar_dir)
        return fields

    @staticmethod
    def change_vnfpkg(req: Json, inst: Json, grant_req: Json, grant: Json,
                      tmp_csar_dir: str) -> Json:
        fields = userdata_standard.StandardUserData.change_vnfpkg(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve(fields, grant_req['dstVnfdId'], _sources(req, grant),
                        _flavour(inst), inst, tmp_csar_dir, numbered=True)

    @staticmethod
    def change_vnfpkg_rollback(req: Json, inst: Json, grant_req: Json,
                               grant: Json, tmp_csar_dir: str) -> Json:
        fields = userdata_standard.StandardUserData.change_vnfpkg_rollback(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _reserve(fields, inst['vnfdId'], (), _flavour(inst), inst,
                        tmp_csar_dir, numbered=True)
