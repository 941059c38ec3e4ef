# SPDX-License-Identifier: Apache-2.0

"""Fills an empty Keystone: roles, users, the service catalogue.

This code runs inside the Keystone process, below its HTTP API.  The module
creates only missing objects.
"""

from unittest import mock
import uuid

from keystone.cmd import bootstrap
from keystone.common import fernet_utils
from keystone.common import provider_api
from keystone.conf import CONF
from keystone.credential.providers import fernet as credential_fernet

from cloud import settings

PROVIDERS = provider_api.ProviderAPIs

# The type of each service, and the path below its root in the catalogue.
CATALOGUE = {
    'placement': ('placement', ''),
    'glance': ('image', ''),
    'neutron': ('network', ''),
    'nova': ('compute', '/v2.1'),
}
FULL_CATALOGUE = {
    'heat': ('orchestration', '/v1/%(tenant_id)s'),
    'tacker': ('nfv-orchestration', ''),
}
# Heat gives these roles to users that create stacks and to stacks' own users.
HEAT_ROLES = ('heat_stack_owner', 'heat_stack_user')


def create_keys() -> None:
    """Makes the key repositories of tokens and credentials."""
    for group, maximum in (
            ('fernet_tokens', CONF.fernet_tokens.max_active_keys),
            ('credential', credential_fernet.MAX_ACTIVE_KEYS)):
        repository = fernet_utils.FernetUtils(
            CONF[group].key_repository, maximum, group)
        repository.create_key_directory()
        repository.initialize_key_repository()


def register(cloud: settings.Settings) -> None:
    """Creates the admin, the service users and the catalogue."""
    roles = _bootstrap(cloud)
    names = {service['name']
             for service in PROVIDERS.catalog_api.list_services()}
    orchestrated = cloud.full and not cloud.pair
    catalogue = CATALOGUE | (FULL_CATALOGUE if orchestrated else {})
    if names.issuperset(catalogue):
        return
    project = _create_service_project()
    if orchestrated:
        _create_heat_domain(roles[0])
    for service, (service_type, path) in catalogue.items():
        _create_user(service, project, roles)
        _create_endpoints(service, service_type, cloud.url(service) + path)


def _bootstrap(cloud: settings.Settings) -> tuple[str, str]:
    """Does what ``keystone-manage bootstrap`` does; returns two roles."""
    # The application has loaded the backends already; once is allowed.
    with mock.patch.object(bootstrap.backends, 'load_backends'):
        bootstrapper = bootstrap.Bootstrapper()
    bootstrapper.admin_username = 'admin'
    bootstrapper.admin_password = settings.PASSWORD
    bootstrapper.admin_role_name = 'admin'
    bootstrapper.project_name = 'admin'
    bootstrapper.service_name = 'keystone'
    bootstrapper.region_id = settings.REGION
    bootstrapper.public_url = cloud.auth_url
    bootstrapper.internal_url = cloud.auth_url
    bootstrapper.immutable_roles = True
    bootstrapper.bootstrap()
    return bootstrapper.admin_role_id, bootstrapper.service_role_id


def _create_service_project() -> str:
    project = uuid.uuid4().hex
    PROVIDERS.resource_api.create_project(project, {
        'id': project, 'name': 'service', 'enabled': True,
        'domain_id': CONF.identity.default_domain_id})
    return project


def _create_heat_domain(admin_role: str) -> None:
    """Creates the domain in which Heat makes users; heat.conf names it."""
    for name in HEAT_ROLES:
        role = uuid.uuid4().hex
        PROVIDERS.role_api.create_role(role, {'id': role, 'name': name})
    domain = uuid.uuid4().hex
    PROVIDERS.resource_api.create_domain(
        domain, {'id': domain, 'name': 'heat', 'enabled': True})
    user = PROVIDERS.identity_api.create_user({
        'name': 'heat_domain_admin', 'password': settings.PASSWORD,
        'enabled': True, 'domain_id': domain})
    PROVIDERS.assignment_api.create_grant(
        admin_role, user_id=user['id'], domain_id=domain)


def _create_user(name: str, project: str, roles: tuple[str, ...]) -> None:
    user = PROVIDERS.identity_api.create_user({
        'name': name, 'password': settings.PASSWORD, 'enabled': True,
        'domain_id': CONF.identity.default_domain_id})
    for role in roles:
        PROVIDERS.assignment_api.add_role_to_user_and_project(
            user_id=user['id'], project_id=project, role_id=role)


def _create_endpoints(name: str, service_type: str, url: str) -> None:
    service = uuid.uuid4().hex
    PROVIDERS.catalog_api.create_service(service, {
        'id': service, 'name': name, 'type': service_type, 'enabled': True})
    for interface in ('public', 'internal'):
        endpoint = uuid.uuid4().hex
        PROVIDERS.catalog_api.create_endpoint(endpoint, {
            'id': endpoint, 'service_id': service, 'interface': interface,
            'region_id': settings.REGION, 'url': url, 'enabled': True})
