# SPDX-License-Identifier: Apache-2.0

"""The rules that say who may read reservations, and who may make them.

The rules are in the policy file of nova-api, as Nova's own rules are, and use
the same base rules.  Nova registers only its own rules, so nova-rt has a
separate enforcer.
"""

from typing import Any

from nova import exception as nova_exception
from nova.policies import base
from oslo_policy import policy

HOSTS = 'nova_rt:hosts:list'
SERVERS = 'nova_rt:servers:list'
EVERYWHERE = 'nova_rt:servers:list:all_projects'
PLACES = 'nova_rt:servers:list:places'
HINT = 'nova_rt:servers:create:hint'
RAISE = 'nova_rt:servers:create:hint:raise'

_HOSTS_URL = {'path': '/nova-rt/hosts', 'method': 'GET'}
_SERVERS_URL = {'path': '/nova-rt/servers', 'method': 'GET'}
_CREATE = {'path': '/servers', 'method': 'POST'}
#: Nova decides who creates servers.
_WHO_CREATES = '@'

_RULES: tuple[tuple[str, str, str, Any], ...] = (
    (HOSTS, base.ADMIN,
     'List the hosts with the reservations on each of their pCPUs.',
     _HOSTS_URL),
    (SERVERS, base.PROJECT_READER_OR_ADMIN,
     'List the reservations of the servers of a project.', _SERVERS_URL),
    (EVERYWHERE, base.ADMIN,
     'List the reservations of the servers of other projects.',
     _SERVERS_URL),
    (PLACES, base.ADMIN,
     'Show the host and the pCPUs of a server with its reservation.',
     _SERVERS_URL),
    (HINT, _WHO_CREATES,
     'Create a server with a reservation in scheduler hints.', _CREATE),
    (RAISE, _WHO_CREATES,
     'Create a server with a larger share in scheduler hints than its flavor '
     'has, as far as [nova_rt] hint_override and the flavor allow that.',
     _CREATE),
)


def list_rules() -> list[policy.DocumentedRuleDefault]:
    """Returns the rules, as oslo.policy's generators need them."""
    return [policy.DocumentedRuleDefault(
        name=name, check_str=check, description=description,
        operations=[operation], scope_types=['project'])
        for name, check, description, operation in _RULES]


class Enforcer:
    """Reads the policy file of nova-api, and decides by it."""

    def __init__(self, conf: Any) -> None:
        self._enforcer = policy.Enforcer(conf)
        # nova-api warns about these rules of its own already.
        self._enforcer.suppress_default_change_warnings = True
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.register_defaults(base.list_rules())
        self._enforcer.register_defaults(list_rules())

    def allows(self, context: Any, rule: str, project_id: str | None = None
               ) -> bool:
        """Checks whether the user of a request may do something.

        :param project_id: the project whose servers are concerned; None for
            the project of the request
        """
        target = {'project_id': project_id or context.project_id,
                  'user_id': context.user_id}
        try:
            return bool(self._enforcer.authorize(rule, target, context))
        except policy.InvalidScope:
            return False

    def check(self, context: Any, rule: str, project_id: str | None = None
              ) -> None:
        """Raises an error unless the rule allows the request.

        :raises PolicyNotAuthorized: when the rule does not allow it
        """
        if not self.allows(context, rule, project_id):
            raise nova_exception.PolicyNotAuthorized(action=rule)
