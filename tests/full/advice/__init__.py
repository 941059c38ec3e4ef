# SPDX-License-Identifier: Apache-2.0

"""What ``nova-rt advise`` reserves, against the least that meets a target.

``python -m tests.full.advice`` runs foreign servers (node, Go, Python) under
a quota of cgroup v1 with a weight that replaces a guarantee, so that the pool
of real-time bandwidth is left alone, beside a neighbour that wants the rest
of the same CPU.
"""
