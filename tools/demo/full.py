# SPDX-License-Identifier: Apache-2.0

"""The act on the full cloud: from a VNF package to a throttled container."""

from demo import client
from demo import host
from demo import package
from demo import stage
from demo import tacker

from cloud import settings

PATIENCE = settings.patience(120)
VNF = 'sol001-hints'


def run(demo: stage.Demo) -> None:
    """Runs all steps of the act."""
    client.environment()
    client.warm_up()
    vnfs = tacker.Tacker(settings.load(), PATIENCE)
    with demo.step('flavors', 'A flavor for the VNF, one for its neighbour'):
        for name in (package.FLAVOR, 'noisy'):
            demo.must(f'flavor create {name} --vcpus 1 --ram 96 --disk 0',
                      '-f value -c name')
    with demo.step('package', 'The VNF package goes to Tacker'):
        onboarded = vnfs.onboard(package.packed(VNF, demo.kind.image))
        print(f'  {onboarded["onboardingState"]}, '
              f'VNFD {onboarded["vnfdId"]}', flush=True)
    with demo.step('instantiate', 'Tacker, Heat and Nova start the VNF'):
        vnf = vnfs.create(onboarded['vnfdId'], 'demo')
        vnfs.instantiate(vnf, package.request(VNF, 'instantiate'))
        demo.must('stack list',
                  '-f value -c "Stack Name" -c "Stack Status"')
        demo.built()
    with demo.step('idle', 'The share on an idle host'):
        demo.measure('idle')
    with demo.step('noise', 'A noisy neighbour without a reservation'):
        demo.create('noisy', command='server create --flavor noisy '
                    f'--image {demo.kind.image} --nic none')
        demo.built()
        demo.measure('noise')
        demo.delete('noisy')
    with demo.step('terminate', 'The VNF is terminated, and nothing is left'):
        vnfs.operate(vnf, 'terminate', package.TERMINATE)
        vnfs.delete(vnf)
        vnfs.remove_package(onboarded['id'])
        demo.must(f'flavor delete {package.FLAVOR} noisy')
        demo.report.leftovers(claims=host.charged(demo.cloud),
                              budgets=host.budgets())
