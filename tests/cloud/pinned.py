# SPDX-License-Identifier: Apache-2.0

"""Virtual machines by SCHED_DEADLINE, each vCPU on its pCPU.

Any kernel will do: the test names the interface that a stock kernel would
have.
"""

import os

from tests.cloud import base

POLICIES = {'guest': ['SCHED_DEADLINE'], 'host': ['SCHED_OTHER']}


class PinnedTests(base.CloudTestCase):
    """A mixin."""

    GUEST = 'qemu'
    BUDGETS = False
    # Servers go to pCPUs with other servers, as long as there is room.
    SETTINGS = ('nova_rt.kernel_interface=sched_deadline',
                'nova_rt.packing_policy=best_fit')

    def assert_pinned(self, found: base.host.Server) -> None:
        """Checks that each vCPU has its policy and its pCPU."""
        self.assertEqual(POLICIES, base.host.policies(found))
        assert found.claim is not None
        group = found.below('cpuset') / found.group
        for vcpu, cpu in enumerate(found.claim.cpus):
            own = group / f'vcpu{vcpu}'
            self.assertEqual(
                str(cpu), (own / 'cpuset.cpus').read_text().strip())
            for task in base.groups.tasks(own):
                self.assertEqual({cpu}, os.sched_getaffinity(task))
