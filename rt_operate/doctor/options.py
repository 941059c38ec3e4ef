# SPDX-License-Identifier: Apache-2.0

"""The options that matter here, from nova.conf where there is one.

Without oslo.config or a file they have the defaults.
"""

from collections.abc import Sequence
import dataclasses
import os
from typing import Any

from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules import reservation

#: What nova-compute of a DevStack reads in place of nova.conf.
NOVA_CPU_CONF = '/etc/nova/nova-cpu.conf'
#: Nova's default
_VIRT_TYPE = 'kvm'
_NOWHERE = 'nowhere (no nova.conf), so the defaults apply'


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """Named as in nova.conf.

    :ivar source: where they come from, for a sentence
    :ivar trouble: why the file could not be used, '' where it was
    """

    kernel_interface: str | None = None
    cpu_cap: float = defaults.CPU_CAP
    rt_cpus: str | None = None
    hcbs_scheduler_available: bool = defaults.HCBS_SCHEDULER_AVAILABLE
    guest_policy: str = defaults.GUEST_POLICY
    guest_priority: int = defaults.GUEST_PRIORITY
    guest_priority_max: int = defaults.GUEST_PRIORITY_MAX
    min_runtime_us: int = defaults.MIN_RUNTIME_US
    min_period_us: int = defaults.MIN_PERIOD_US
    virt_type: str = _VIRT_TYPE
    cpu_shared_set: str | None = None
    source: str = _NOWHERE
    trouble: str = ''

    @property
    def from_file(self) -> bool:
        return self.source != _NOWHERE

    @property
    def cap_ppm(self) -> int:
        return round(self.cpu_cap * reservation.PPM)


_NOVAS = frozenset(('virt_type', 'cpu_shared_set'))
_OURS = tuple(field.name for field in dataclasses.fields(Options)
              if field.name not in {*_NOVAS, 'source', 'trouble'})


def load(files: Sequence[str]) -> Options:
    """The options of *files*; of those nova-compute reads for none."""
    try:
        from oslo_config import cfg

        from nova_rt.services import conf as rt_conf
    except ImportError as error:
        return Options(trouble=f'oslo.config is not installed: {error}'
                       if files else '')
    if not files and os.path.exists(NOVA_CPU_CONF):
        files = (NOVA_CPU_CONF,)
    try:
        return _read(cfg, rt_conf, files)
    except (cfg.Error, OSError, ValueError, SystemExit) as error:
        return Options(trouble=exception.clause(error)
                       or type(error).__name__)


def _read(cfg: Any, rt_conf: Any, files: Sequence[str]) -> Options:
    conf = cfg.ConfigOpts()
    rt_conf.register_opts(conf)
    conf.register_opts([cfg.StrOpt('virt_type', default=_VIRT_TYPE)],
                       group='libvirt')
    conf.register_opts([cfg.StrOpt('cpu_shared_set')], group='compute')
    conf(args=[word for path in files for word in ('--config-file', path)],
         project='nova', prog='nova-compute')
    values = {name: conf.nova_rt[name] for name in _OURS}
    used = ', '.join(conf.config_file or ())
    return Options(**values, virt_type=conf.libvirt.virt_type,
                   cpu_shared_set=conf.compute.cpu_shared_set,
                   source=used or Options().source)
