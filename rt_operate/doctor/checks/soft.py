# SPDX-License-Identifier: Apache-2.0

"""Shows what guests with soft reservations get now (``rules.soft``).

Nova writes the flavor of a server into the metadata of its domain.
"""

from collections.abc import Iterator
from xml.etree import ElementTree

from nova_rt.machine.host import domains
from nova_rt.machine.host import sched
from nova_rt.rules import reservation
from nova_rt.rules import soft
from nova_rt.rules import words
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_ID = 'deadline.soft'
_NOVA = '{http://openstack.org/xmlns/libvirt/nova/1.1}'
_SPECS = (f'domain/metadata/{_NOVA}instance/{_NOVA}flavor/{_NOVA}extraSpecs/'
          f'{_NOVA}extraSpec')


def guests(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Yields one finding with the shares of guests with soft reservations."""
    if not view.detection.deadline:
        return
    shares = sorted(
        f'{root.findtext("domain/name", "")} {_share(root)}'
        for root in domains.running(view.host) if _is_soft(root))
    if shares:
        yield findings.ok(
            _ID, f'{words.count(len(shares), "guest")} with a soft '
            f'reservation; each vCPU may now use this share of its pCPU: '
            f'{findings.first_few(shares)}.')


def _is_soft(root: ElementTree.Element) -> bool:
    """Checks whether the flavor of a guest has a soft reservation."""
    return any(spec.get('name') == reservation.KIND_KEY
               and spec.text == soft.Kind.SOFT
               for spec in root.iterfind(_SPECS))


def _share(root: ElementTree.Element) -> str:
    """Returns the smallest share of the vCPUs with a reservation."""
    policies = [policy for vcpu in root.iterfind('vcpus/vcpu')
                if (policy := _policy(int(vcpu.get('pid', 0)))).is_deadline]
    return reservation.decimal(min(
        (policy.runtime * reservation.PPM // policy.period
         for policy in policies), default=0))


def _policy(thread: int) -> sched.Policy:
    """Returns the policy of a thread; an ordinary one if it has ended."""
    try:
        return sched.get(thread)
    except OSError:
        return sched.Policy(0)


CHECKS: dict[str, doctor_view.Check] = {_ID: guests}
