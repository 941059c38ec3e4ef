# SPDX-License-Identifier: Apache-2.0

"""Fake domains with a process, tasks and groups, as libvirt's domains have.

Nova's fake libvirt does not emulate three things that matter here: a domain
that is defined again while it runs, a domain that is started paused, and
lifecycle events.
"""

from collections.abc import Callable
from typing import Any

import fixtures
import libvirt
from lxml import etree
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.virt import event as virtevent

from tests.emulation import tasks as emulated

_PAUSED = 1  # VIR_DOMAIN_START_PAUSED
#: By the states of a domain in which it has a process.
ALIVE = (fakelibvirt.VIR_DOMAIN_RUNNING, fakelibvirt.VIR_DOMAIN_PAUSED)


class Name(str):
    """Returns the name of a domain, which is not unique over the hosts."""

    pid: int


def read_pid(name: Name) -> int:
    """Replaces ``nova_rt.machine.privsep.read_pid``."""
    if not name.pid:
        raise FileNotFoundError(2, 'no such domain runs', str(name))
    return name.pid


class GuestGroups(fixtures.Fixture):
    """An emulation of what libvirt does to the groups of a host.

    :ivar hosts: the guests of each host, by host name
    :ivar started: called with host and uuid when libvirt started a domain
    :ivar runs: called with host and domain before a virtual machine's code
        runs
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.hosts: dict[str, emulated.Guests] = {}
        self.started: Callable[[str, str], None] = lambda host, uuid: None
        self.runs: Callable[[str, Any], None] = lambda host, domain: None

    def _setUp(self) -> None:
        domain, connection = 'Domain', 'Connection'
        for owner, name, new in (
                (domain, '__init__', self._init),
                (domain, 'XMLDesc', self._xml),
                (domain, 'name', self._name),
                (domain, 'createWithFlags', self._create),
                (domain, 'resume', self._resume),
                (domain, 'destroy', self._destroy),
                (domain, 'shutdown', self._end),
                (domain, 'managedSave', self._save),
                (connection, 'defineXML', self._define),
                (connection, '_emit_lifecycle', self._emit)):
            self.useFixture(fixtures.MonkeyPatch(
                f'nova.tests.fixtures.libvirt.{owner}.{name}',
                self._method(owner, name, new)))

        for name, new in (('metadata', _metadata),
                          ('setMetadata', _set_metadata)):
            self.useFixture(fixtures.MonkeyPatch(
                f'nova.tests.fixtures.libvirt.Domain.{name}', new))

    @staticmethod
    def _method(owner: str, name: str, new: Any) -> Any:
        """Returns a method that gets the fixture's method first."""
        old = getattr(getattr(fakelibvirt, owner), name)

        def method(*args: Any, **kwargs: Any) -> Any:
            return new(old, *args, **kwargs)
        return method

    def of(self, domain: Any) -> emulated.Guests:
        """Returns the guests of the domain's host."""
        return self.hosts[domain._connection.hostname]

    # Domains.

    def _init(self, old: Any, domain: Any, connection: Any, xml: Any,
              running: bool = False, transient: bool = False) -> None:
        domain.rt_xml, domain.rt_pid = xml, 0
        domain.rt_metadata = {}
        old(domain, connection, xml, running=running, transient=transient)
        if running:
            self._fork(domain)
        if running and self.kind != 'lxc':
            # This is the destination of a live migration: nothing runs there
            # before the memory arrives.
            domain._state = fakelibvirt.VIR_DOMAIN_PAUSED

    def _xml(self, old: Any, domain: Any, flags: Any) -> Any:
        # The fixture's own method cannot describe the file system of a
        # container.
        return domain.rt_xml

    def _name(self, old: Any, domain: Any) -> Name:
        name = Name(old(domain))
        name.pid = domain.rt_pid
        return name

    def _fork(self, domain: Any) -> None:
        guests, root = self.of(domain), etree.fromstring(domain.rt_xml)
        vcpu = root.find('vcpu')
        if self.kind == 'lxc':
            domain.rt_pid = guests.start(domain.name(), vcpu.get('cpuset'))
            domain._id = domain.rt_pid
            return
        pins = {int(pin.get('vcpu')): pin.get('cpuset')
                for pin in root.findall('cputune/vcpupin')}
        domain.rt_pid = guests.start_qemu(
            domain.name(), [pins.get(number, '')
                            for number in range(int(vcpu.text))])
        domain._id = domain._connection._id_counter

    def _create(self, old: Any, domain: Any, flags: Any) -> None:
        self._fork(domain)
        paused = flags & _PAUSED
        if not paused and self.kind != 'lxc':
            self.runs(domain._connection.hostname, domain)
        old(domain, flags)
        if paused:
            domain._state = fakelibvirt.VIR_DOMAIN_PAUSED

    def _resume(self, old: Any, domain: Any) -> None:
        if self.kind != 'lxc':
            self.runs(domain._connection.hostname, domain)
        old(domain)

    def _destroy(self, old: Any, domain: Any) -> None:
        if not domain.rt_pid:
            raise fakelibvirt.make_libvirtError(
                fakelibvirt.libvirtError, 'domain is not running',
                error_code=fakelibvirt.VIR_ERR_OPERATION_INVALID,
                error_domain=fakelibvirt.VIR_FROM_QEMU)
        self._end(old, domain)

    def _save(self, old: Any, domain: Any, flags: Any) -> None:
        self._end(lambda domain: old(domain, flags), domain)
        domain._has_saved_state = True

    def _end(self, old: Any, domain: Any) -> None:
        if domain.rt_pid:
            self.of(domain).stop(domain.rt_pid)
            domain.rt_pid = 0
        old(domain)
        domain._state = fakelibvirt.VIR_DOMAIN_SHUTOFF

    # Connections.

    def _define(self, old: Any, connection: Any, xml: Any) -> Any:
        name = etree.fromstring(xml).findtext('name')
        known = connection._vms.get(name)
        if known is not None and known.rt_pid:
            # A domain that runs stays as it is, and from now on remains after
            # its end.
            known._transient = False
            return known
        return old(connection, xml)

    def _emit(self, old: Any, connection: Any, domain: Any, event: int,
              detail: int) -> None:
        # Nova delays STOPPED by 15 seconds; here the tests say when it comes.
        if event == fakelibvirt.VIR_DOMAIN_EVENT_STARTED and (
                domain in connection._vms.values()):
            self.started(connection.hostname, domain.UUIDString())

    # The following methods do what nobody asked Nova for.

    def vanish(self, domain: Any) -> None:
        """The guest ends by itself."""
        fakelibvirt.Domain.shutdown(domain)

    def reboot(self, domain: Any) -> None:
        """Stops a container and starts it again, as libvirt does."""
        self.vanish(domain)
        fakelibvirt.Domain.createWithFlags(domain, 0)

    def forget(self, domain: Any) -> None:
        """Ends a guest that was migrated away, or an incoming guest."""
        connection, name = domain._connection, str(domain.name())
        if domain.rt_pid:
            self.vanish(domain)
        connection._vms.pop(name, None)


def _metadata(domain: Any, kind: int, uri: str, flags: int) -> str:
    if uri not in domain.rt_metadata:
        raise libvirt.libvirtError('it has no such metadata')
    return str(domain.rt_metadata[uri])


def _set_metadata(domain: Any, kind: int, xml: str | None, key: str,
                  uri: str, flags: int = 0) -> None:
    domain.rt_metadata.pop(uri, None)
    if xml is not None:
        domain.rt_metadata[uri] = xml


def lifecycle(uuid: str, transition: int) -> virtevent.LifecycleEvent:
    """Returns an event as Nova's host passes it on."""
    return virtevent.LifecycleEvent(uuid, transition)
