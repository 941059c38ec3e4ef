# SPDX-License-Identifier: Apache-2.0

"""Models of response times and interference, and advice on pinning.

No reservation needs this package: without it, servers keep their share.
"""
