# SPDX-License-Identifier: Apache-2.0

"""The functional tests of Nova that are run, by subject."""

#: Modules, or classes, below ``nova.tests.functional``.
SUITES = {
    'servers': (
        'test_servers.ServersTest',
        'test_servers.ServerRebuildTestCase',
        'test_servers.ServerRebuildTestCaseV293',
        'test_servers.TraitsBasedSchedulingTest',
        'test_servers.ConsumerGenerationConflictTest',
        'test_servers.PollUnconfirmedResizesTest',
        'test_servers.ServerDeleteBuildTests',
        'test_servers.ServerBuildAbortTests',
        'test_servers.ServerRescheduleTests',
        'test_servers.ServerSoftDeleteTests',
        'test_servers.ServerUnshelveSpawnFailTests',
        'test_servers.VolumeBackedServerTest',
        'test_boot_from_volume',
        'test_flavor_extraspecs',
        'test_scheduler',
        'test_server_group.ServerGroupTestV264',
        'test_server_group.ServerGroupTestMultiCell',
        'test_server_group.TestAntiAffinityLiveMigration',
        'test_servers_provider_tree',
        'test_unified_limits',
        'libvirt.test_machine_type',
    ),
    'moves': (
        'test_servers.ServerMovingTests',
        'test_servers.ServerLiveMigrateForceAndAbort',
        'test_cold_migrate',
        'test_cross_cell_migrate',
        'libvirt.test_evacuate',
        'libvirt.test_live_migration',
    ),
    'numa': (
        'libvirt.test_numa_servers',
        'libvirt.test_numa_live_migration',
        'libvirt.test_power_manage',
        'libvirt.test_rt_servers',
    ),
    'pci': (
        'libvirt.test_pci_sriov_servers',
        'libvirt.test_pci_in_placement',
        'libvirt.test_vgpu',
        'libvirt.test_vpmem',
        'libvirt.test_reshape',
        'libvirt.test_report_cpu_traits',
        # Ports with a bandwidth, of SR-IOV too.
        'test_servers_resource_request',
    ),
    'vtpm': (
        'libvirt.test_vtpm',
    ),
}
