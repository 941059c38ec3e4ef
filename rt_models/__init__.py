# SPDX-License-Identifier: Apache-2.0

"""Models of response times and interference, and advice on pinning.

Reservations do not need this package: without the package, servers keep their
share.
"""
