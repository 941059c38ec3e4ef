# SPDX-License-Identifier: Apache-2.0

"""Defaults of [nova_rt] that commands without oslo.config use, too."""

#: the part of each pCPU that reservations may use
CPU_CAP = 0.95
#: the largest share of one vCPU
MAX_SHARE = 0.95
HCBS_SCHEDULER_AVAILABLE = True
GUEST_POLICY = 'rr'
#: the lowest and the highest real-time priority of guests
GUEST_PRIORITY = 10
GUEST_PRIORITY_MAX = 57
#: the shortest runtime that a division for the kernel may make; 0 for no
#: division
MIN_DIVIDED_RUNTIME_US = 0
MIN_RUNTIME_US = 100
MIN_PERIOD_US = 1000
