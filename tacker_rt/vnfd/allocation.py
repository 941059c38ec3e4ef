# SPDX-License-Identifier: Apache-2.0

"""Translates the other keys of the legacy cpu_allocation to extra specs.

The extra specs are keys that Nova accepts today.  Tacker up to 10 wrote
``hw:cpu_threads_policy``, which Nova never had.
"""

from collections.abc import Mapping
from typing import Any

from nova_rt.rules import reservation as nova_reservation

from tacker_rt import problem
from tacker_rt.vnfd import inputs as tosca_inputs
from tacker_rt.vnfd import statements

POLICY_KEY, THREADS_KEY = 'cpu_affinity', 'thread_allocation'
POLICY_SPEC, THREADS_SPEC = 'hw:cpu_policy', 'hw:cpu_thread_policy'

_COUNTS = {'socket_count': 'hw:cpu_sockets', 'core_count': 'hw:cpu_cores',
           'thread_count': 'hw:cpu_threads'}
_WORDS = {
    POLICY_KEY: (POLICY_SPEC, {'shared': 'shared',
                               'dedicated': 'dedicated'}),
    # Nova has no policy for hosts without SMT, nor for cores whose siblings
    # others may use; isolate is the next stricter policy.
    THREADS_KEY: (THREADS_SPEC, {
        'avoid': 'isolate', 'separate': 'isolate', 'isolate': 'isolate',
        'prefer': 'prefer'}),
}
_KEYS = (*_WORDS, *_COUNTS)


def extra_specs(place: problem.Place, raw: Mapping[Any, Any],
                inputs: tosca_inputs.Inputs) -> dict[str, str]:
    """Returns the extra specs of a flavor; adds problems to *place*."""
    specs: dict[str, str] = {}
    for key, value in raw.items():
        if key in _KEYS:
            resolved = inputs.known_value(place, key, value)
            if resolved is not None:
                specs |= _translate(place, key, resolved)
        elif not statements.is_like_ours(key):
            place.add(key, value, 'cpu_allocation has no such key',
                      problem.nearest(key, (*_KEYS, *nova_reservation.KEYS)))
    if THREADS_SPEC in specs and specs.get(POLICY_SPEC) != 'dedicated':
        place.add(THREADS_KEY, raw[THREADS_KEY], 'Nova accepts this key only '
                  f'with {POLICY_KEY} dedicated', 'remove the key')
    return specs


def _translate(place: problem.Place, key: str, value: Any) -> dict[str, str]:
    if key in _COUNTS:
        if nova_reservation.is_whole_number(value):
            return {_COUNTS[key]: str(int(value))}
        place.add(key, value, 'the value must be a positive whole number',
                  'give for example 2')
        return {}
    spec, words = _WORDS[key]
    for word, meaning in words.items():
        if value == word:
            return {spec: meaning}
    place.add(key, value, 'the key cannot have this value',
              problem.nearest(value, words))
    return {}
