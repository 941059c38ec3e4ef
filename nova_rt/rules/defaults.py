# SPDX-License-Identifier: Apache-2.0

"""Defaults of [nova_rt] that also hold where there is no oslo.config."""

#: parts of a pCPU that reservations may use
CPU_CAP = 0.95
#: the largest share of one vCPU
MAX_SHARE = 0.95
HCBS_SCHEDULER_AVAILABLE = True
GUEST_POLICY = 'rr'
#: real-time priorities: the lowest of guests, and the highest
GUEST_PRIORITY = 10
GUEST_PRIORITY_MAX = 57
MIN_RUNTIME_US = 100
MIN_PERIOD_US = 1000
