# SPDX-License-Identifier: Apache-2.0

"""The options of group [nova_rt] in tempest.conf."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    name='nova_rt', title='Reservations of CPU time',
    help='The reservations of the tests, and what the cloud allows.')

OPTS = [
    cfg.IntOpt(
        'period_us', default=100_000, min=1,
        help='The period of all reservations, in microseconds.'),
    cfg.IntOpt(
        'runtime_us', default=20_000, min=1,
        help='The runtime in each period, in microseconds.'),
    cfg.IntOpt(
        'larger_runtime_us', default=30_000, min=1,
        help="""
The larger runtime that a hint or a resize asks for.  While a server is being
resized, one host may have to hold both runtimes.
"""),
    cfg.StrOpt(
        'hint_override', default='lower', choices=['any', 'lower', 'none'],
        help='The value of the option of the same name in [nova_rt] of Nova.'),
    cfg.BoolOpt(
        'hints_on_plain_flavors', default=False,
        help='The value of the option of the same name in [nova_rt] of Nova.'),
    cfg.BoolOpt(
        'evacuation', default=False,
        help="""
Lets the tests force a host down, to evacuate a server from this host.  The
claim of the server stays on that host until nova-compute there is restarted.
Nova may refuse to use the host again before that, so the host can stay forced
down.  The test needs ``[compute] min_compute_nodes`` of 2 or more, with hosts
that run the same images.
"""),
    cfg.StrOpt(
        'vnf_package',
        help="""
The path of a VNF package (CSAR).  If this option is unset, the tests of VNFs
are skipped.
"""),
    cfg.StrOpt(
        'vnf_request',
        help="""
The path of a request in JSON that instantiates a VNF of ``vnf_package``
through version 2 of Tacker's API, including ``vimConnectionInfo``.
"""),
    cfg.IntOpt(
        'vnf_bandwidth', default=600_000, min=1,
        help="""
The bandwidth that each server of the VNF reserves, in parts per million of one
CPU.
"""),
    cfg.StrOpt(
        'vnfm_catalog_type', default='nfv-orchestration',
        help="Tacker's service type in the catalogue."),
]
