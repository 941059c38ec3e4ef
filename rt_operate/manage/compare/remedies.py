# SPDX-License-Identifier: Apache-2.0

"""What an operator can do about a difference."""

HEAL = 'run nova-rt-manage heal --apply'
AUDIT = ("wait for nova-compute's next audit (a minute); if it stays, "
         'restart nova-compute')
MOVE = 'resize or migrate it'
RESIZE = 'resize it to a flavor without the mistake, or delete it'
RESTORE = ('put the text back from a backup of instance_extra.resources, or '
           'delete the server and create it again')
LOWER = ('migrate a server away, or raise [nova_rt] cpu_cap where it was '
         'lowered')
PLUGIN = ('start nova-compute with compute_driver = nova_rt.RTLibvirtDriver, '
          'or migrate the servers away')
NOVA_HEAL = ('run nova-manage placement heal_allocations --instance {}, then '
             'nova-rt-manage heal --apply')
NOVA_AUDIT = ('run nova-manage placement audit --resource_provider {} '
              '--delete')
CONFIRM = 'confirm the resize'
STRANGER = ('see "Backup and restore" in the administrator guide: bring '
            'its server back, or end the guest; what it holds is not offered '
            'meanwhile')
ELSEWHERE = ('see "Backup and restore" in the administrator guide: end the '
             'guest there before its server is started again; what it holds '
             'is not offered meanwhile')
STRAY = ('if a guest of libvirt is in it, see "Backup and restore" in the '
         'administrator guide; else stop what made the group, or take its '
         'budget')
