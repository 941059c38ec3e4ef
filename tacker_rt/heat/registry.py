# SPDX-License-Identifier: Apache-2.0

"""The classes of tacker_rt that translate TOSCA types."""

from translator.hot import translate_node_templates

from tacker_rt.heat import legacy
from tacker_rt.heat import policies
from tacker_rt.heat import scaling
from tacker_rt.heat import sol001

CLASSES = (
    legacy.VduTacker,
    legacy.CpTacker,
    sol001.VduCompute,
    scaling.ScalingAspects,
    policies.CpuReservation,
    policies.ResponseTimePolicy,
    policies.WorkloadPolicy,
)


def register() -> None:
    """Registers our classes with heat-translator; may be called again.

    :raises AttributeError: when heat-translator is still being imported
    """
    types = translate_node_templates.TOSCA_TO_HOT_TYPE
    types.update({cls.toscatype: cls for cls in CLASSES})
