# SPDX-License-Identifier: Apache-2.0

"""The options of nova.conf that the doctor needs.

Without oslo.config, or without a file, the options have their defaults.
"""

from collections.abc import Sequence
import dataclasses
import os
from typing import Any

from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules import reservation

#: The file that nova-compute of a DevStack reads instead of nova.conf.
NOVA_CPU_CONF = '/etc/nova/nova-cpu.conf'
#: The default of Nova.
_VIRT_TYPE = 'kvm'
_NOWHERE = 'nowhere (no nova.conf), so the defaults apply'


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """The values of options, with their names in nova.conf.

    :ivar source: where the values come from, as a part of a sentence
    :ivar trouble: why the file could not be used; '' if it was used
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
    min_divided_runtime_us: int = defaults.MIN_DIVIDED_RUNTIME_US
    virt_type: str = _VIRT_TYPE
    cpu_shared_set: str | None = None
    source: str = _NOWHERE
    trouble: str = ''
    cpu_dedicated_set: str | None = None
    emulator_cpus: str | None = None
    emulator_max_share: float | None = None

    @property
    def from_file(self) -> bool:
        """Tells whether a nova.conf was read."""
        return self.source != _NOWHERE

    @property
    def cap_ppm(self) -> int:
        """Returns the cap in ppm."""
        return round(self.cpu_cap * reservation.PPM)


#: The options that are not in [nova_rt].
_NOVAS = frozenset(('virt_type', 'cpu_shared_set', 'cpu_dedicated_set'))
_OURS = tuple(field.name for field in dataclasses.fields(Options)
              if field.name not in {*_NOVAS, 'source', 'trouble'})


def load(files: Sequence[str]) -> Options:
    """Returns the options in *files*.

    If no files are given, the function reads the default files of
    nova-compute.
    """
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
    conf.register_opts([cfg.StrOpt('cpu_shared_set'),
                        cfg.StrOpt('cpu_dedicated_set')], group='compute')
    conf(args=[word for path in files for word in ('--config-file', path)],
         project='nova', prog='nova-compute')
    values = {name: conf.nova_rt[name] for name in _OURS}
    used = ', '.join(conf.config_file or ())
    return Options(**values, virt_type=conf.libvirt.virt_type,
                   cpu_shared_set=conf.compute.cpu_shared_set,
                   cpu_dedicated_set=conf.compute.cpu_dedicated_set,
                   source=used or Options().source)
