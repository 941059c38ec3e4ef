# SPDX-License-Identifier: Apache-2.0

import types
from typing import Any

from nova.compute import task_states
from nova import objects

from nova_rt.services.compute import inplace
from tests.unit import base

RUNTIME, PERIOD = 'hw:cpu.rt_runtime_us', 'hw:cpu.rt_period_us'


def flavor(number: int, specs: dict[str, str] | None = None, **fields: Any
           ) -> Any:
    return objects.Flavor(**{
        'id': number, 'vcpus': 2, 'memory_mb': 64, 'root_gb': 1,
        'ephemeral_gb': 0, 'swap': 0, 'rxtx_factor': 1.0,
        'extra_specs': specs or {}} | fields)


class FlavorsTest(base.TestCase):

    def test_only_the_reservation(self) -> None:
        old = flavor(1, {RUNTIME: '1000', PERIOD: '10000', 'a:b': '1'})
        for specs, fields, differs in (
                ({RUNTIME: '2000', PERIOD: '5000', 'a:b': '1'}, {}, True),
                ({RUNTIME: '2000', PERIOD: '5000', 'a:b': '2'}, {}, False),
                ({RUNTIME: '2000', PERIOD: '5000'}, {}, False),
                ({RUNTIME: '2000', PERIOD: '5000', 'a:b': '1'},
                 {'memory_mb': 65}, False)):
            self.assertEqual(differs, inplace.only_reservation_differs(
                old, flavor(2, specs, **fields)))
        self.assertFalse(inplace.only_reservation_differs(old, old))


class NoteTest(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.instance = types.SimpleNamespace(
            system_metadata={}, task_state=None,
            migration_context=types.SimpleNamespace(migration_id=7))

    def test_counts_for_one_migration(self) -> None:
        self.assertFalse(inplace.stays(self.instance))
        inplace.note(self.instance, 7, True)
        self.assertTrue(inplace.stays(self.instance))
        self.assertFalse(inplace.is_reverting(self.instance))
        self.instance.task_state = task_states.RESIZE_REVERTING
        self.assertTrue(inplace.is_reverting(self.instance))
        self.instance.migration_context.migration_id = 8
        self.assertFalse(inplace.stays(self.instance))
        self.instance.migration_context = None
        self.assertFalse(inplace.stays(self.instance))

    def test_the_next_resize_forgets(self) -> None:
        inplace.note(self.instance, 7, True)
        inplace.note(self.instance, 7, False)
        self.assertFalse(inplace.stays(self.instance))
