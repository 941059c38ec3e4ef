# SPDX-License-Identifier: Apache-2.0

"""Types of the legacy profile: ports, and the VDU of the paper (5.1)."""

import contextlib
from typing import Any

from translator.common import utils
from translator.hot.syntax import hot_resource
from translator.hot.tosca import tosca_network_port

from tacker_rt import exception
from tacker_rt.heat import carrier
from tacker_rt.heat import reading
from tacker_rt import problem
from tacker_rt.vnfd import descriptor

_COPIED = ('name', 'image', 'availability_zone', 'key_name', 'config_drive',
           'user_data', 'user_data_format', 'metadata')
#: The types of vNICs, translated as Tacker did.
_VNIC_TYPES = {'sriov': 'direct', 'vnic': 'normal'}
#: The size of a flavor if the VNFD gives none, as in Tacker.
_VCPUS, _RAM_MB, _DISK_GB = 1, 512, 1


class VduTacker(hot_resource.HotResource):
    """A server, and its flavor unless the VDU names a flavor of the cloud."""

    toscatype = 'tosca.nodes.nfv.VDU.Tacker'

    def __init__(self, nodetemplate: Any, csar_dir: str | None = None
                 ) -> None:
        super().__init__(nodetemplate, type='OS::Nova::Server',
                         csar_dir=csar_dir)
        #: The translator of ports fills and sorts this list.
        self.assoc_port_resources: list[hot_resource.HotResource] = []
        self._flavor_name = nodetemplate.name + '_flavor'

    def _read(self) -> descriptor.Vdu:
        return reading.read(self.nodetemplate, self.toscatype)

    def _compute(self) -> dict[str, Any]:
        template = self.nodetemplate.templates[self.nodetemplate.name]
        capability = (template.get('capabilities') or {}).get('nfv_compute')
        return (capability or {}).get('properties') or {}

    def handle_properties(self) -> None:
        declared = self.get_tosca_props()
        self.properties = {
            key: declared[key] for key in _COPIED
            if declared.get(key) is not None}
        self.properties['flavor'] = declared.get('flavor') or {
            'get_resource': self._flavor_name}
        # Ports are handled later and replace this value.
        self.properties['networks'] = [{'allocate_network': 'none'}]
        hints = carrier.hints(self._read())
        if hints:
            self.properties['scheduler_hints'] = hints

    def handle_expansion(self) -> list[hot_resource.HotResource]:
        if self.get_tosca_props().get('flavor'):
            return []
        compute = self._compute()
        properties = {
            'vcpus': reading.parameters(compute.get('num_cpus', _VCPUS)),
            'ram': self._size(compute, 'mem_size', 'MB', _RAM_MB),
            'disk': self._size(compute, 'disk_size', 'GB', _DISK_GB)}
        extra_specs = carrier.extra_specs(self._read())
        if extra_specs:
            properties['extra_specs'] = extra_specs
        return [hot_resource.HotResource(
            self.nodetemplate, type='OS::Nova::Flavor',
            name=self._flavor_name, properties=properties)]

    def _size(self, compute: dict[str, Any], key: str, unit: str,
              default: int) -> int:
        if compute.get(key) is None:
            return default
        size: int | None = None
        with contextlib.suppress(TypeError, ValueError):
            size = utils.MemoryUnit.convert_unit_size_to_num(
                compute[key], unit)
        if not isinstance(size, int):
            raise exception.InvalidVnfd(problem=problem.Problem(
                'VNFD', f'the value is not a size in {unit}',
                f'give a number with its unit, for example 1 {unit}',
                vdu=self.name, key=key, value=problem.shown(compute[key])))
        return size


class CpTacker(tosca_network_port.ToscaNetworkPort):
    """A port, which is bound and linked by its relationships."""

    toscatype = 'tosca.nodes.nfv.CP.Tacker'

    def handle_properties(self) -> None:
        super().handle_properties()
        protected = self.properties.pop('anti_spoofing_protection', None)
        if protected is not None:
            self.properties['port_security_enabled'] = protected
        kind = self.properties.pop('type', None)
        if kind is not None:
            self.properties['binding:vnic_type'] = _VNIC_TYPES[kind]
