# SPDX-License-Identifier: Apache-2.0

"""ETSI's VDU, tosca.nodes.nfv.Vdu.Compute, with a reservation.

The class of heat-translator does the rest of the translation.  The class for
scaling reads the attributes of this class and calls ``handle_expansion`` more
than once.
"""

from typing import Any

from translator.hot.syntax import hot_resource
from translator.hot.tosca.etsi_nfv import tosca_nfv_vdu_compute
import yaml

from tacker_rt.heat import carrier
from tacker_rt.heat import reading
from tacker_rt.vnfd import descriptor


class VduCompute(tosca_nfv_vdu_compute.ToscaNfvVduCompute):
    """A server, and its flavor unless the VDU names a flavor of the cloud."""

    def __init__(self, nodetemplate: Any, csar_dir: str | None = None
                 ) -> None:
        super().__init__(nodetemplate, csar_dir=csar_dir)
        #: The flavor of the cloud that a VDU with a reservation names.
        self.named_flavor: str | None = None

    def _read(self) -> descriptor.Vdu | None:
        """Returns the VDU; None if the VDU has no hints."""
        if not reading.has_reservation(self.nodetemplate):
            return None
        vdu = reading.read(self.nodetemplate, self.toscatype)
        return vdu if vdu.hints or vdu.workload else None

    def handle_properties(self) -> None:
        super().handle_properties()
        vdu = self._read()
        if vdu is None:
            return
        # Connection points are handled later and replace this value.  Heat
        # cannot create a server without a value for networks.
        self.properties['networks'] = [{'allocate_network': 'none'}]
        self.named_flavor = vdu.flavor
        if vdu.flavor:
            self.properties['flavor'] = vdu.flavor
        hints = carrier.hints(vdu)
        if hints:
            self.properties['scheduler_hints'] = hints

    def handle_expansion(self) -> list[hot_resource.HotResource]:
        if self.named_flavor:
            return []
        resources: list[hot_resource.HotResource] = super().handle_expansion()
        vdu = self._read()
        extra_specs = carrier.extra_specs(vdu) if vdu else {}
        if extra_specs:
            properties = resources[0].properties
            specs = yaml.safe_load(properties.get('extra_specs') or '{}')
            properties['extra_specs'] = specs | extra_specs
        return resources
