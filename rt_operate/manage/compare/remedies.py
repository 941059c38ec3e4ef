# SPDX-License-Identifier: Apache-2.0

"""The remedies that an operator is told for a difference."""

HEAL = 'run nova-rt-manage heal --apply'
AUDIT = ('wait for the next audit of nova-compute (a minute); if the '
         'difference stays, restart nova-compute')
MOVE = 'resize or migrate the server'
RESIZE = ('resize the server to a flavor without the mistake, or delete the '
          'server')
RESTORE = ('restore the claim from a backup of instance_extra.resources, or '
           'delete the server and create it again')
LOWER = ('migrate a server away, or raise [nova_rt] cpu_cap if it was '
         'lowered')
PLUGIN = ('start nova-compute with compute_driver = nova_rt.RTLibvirtDriver, '
          'or migrate the servers away')
NOVA_HEAL = ('run nova-manage placement heal_allocations --instance {}, then '
             'nova-rt-manage heal --apply')
NOVA_AUDIT = ('run nova-manage placement audit --resource_provider {} '
              '--delete')
CONFIRM = 'confirm the resize'
STRANGER = ('see "Backup and restore" in the administrator guide: restore '
            'its server, or end the guest; until then the host does not '
            'offer what the guest holds')
ELSEWHERE = ('see "Backup and restore" in the administrator guide: end the '
             'guest on this host before its server is started again; until '
             'then the host does not offer what the guest holds')
STRAY = ('if a libvirt guest is in the group, see "Backup and restore" in '
         'the administrator guide; otherwise stop the program that created '
         'the group, or remove the budget of the group')
