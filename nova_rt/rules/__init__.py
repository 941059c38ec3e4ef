# SPDX-License-Identifier: Apache-2.0

"""Decides with integers, and knows neither a machine nor OpenStack.

The parser of reservations, the accounting of pCPUs, the fit function, the
packing policies, the host map, and the errors of the whole project.
"""
