# SPDX-License-Identifier: Apache-2.0

"""Runs in Nova: the reservations of requests to create servers.

JSON in: a list of {body, extra_specs}, the latter of the flavor.  JSON out:
for each, the reservation that the scheduler would see, as [runtime, period],
or null.  Anything that Nova's API would answer with 400 is an error.
"""

import os

os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')

from nova.api.openstack.compute.schemas import flavors_extraspecs  # noqa: E402
from nova.api.openstack.compute.schemas import servers  # noqa: E402
from nova.api.validation.extra_specs import validators  # noqa: E402
from nova.api.validation import validators as schemas  # noqa: E402
from nova import objects  # noqa: E402
import serving  # noqa: E402

from nova_rt.rules import conflicts  # noqa: E402
from nova_rt.rules import reservation  # noqa: E402

_HINTS = 'os:scheduler_hints'
_MICROVERSION = '2.96'


def _validate(schema, body):
    schemas._SchemaValidator(schema, is_body=True).validate(body)


def _stored(hints):
    """Returns the hints of a request, as the RequestSpec stores them."""
    spec = objects.RequestSpec()
    spec._from_hints(hints)
    return spec.scheduler_hints


def examine(case):
    body, extra_specs = case['body'], case['extra_specs']
    # The newest microversion that changes the body is 2.94.
    _validate(servers.create_v294, body)
    if extra_specs:
        _validate(flavors_extraspecs.create, {'extra_specs': extra_specs})
    for key, value in extra_specs.items():
        validators.validate(key, str(value))
    hints = reservation.stored_hints(_stored(body.get(_HINTS, {})))
    found = reservation.from_flavor_and_hints(
        {key: str(value) for key, value in extra_specs.items()}, hints)
    if found is None:
        return None
    conflicts.check(extra_specs)
    return [found.runtime_us, found.period_us]


def main():
    objects.register_all()
    serving.serve(examine)


if __name__ == '__main__':
    main()
