# SPDX-License-Identifier: Apache-2.0

"""Response times, interference between neighbours, and advice on pinning.

No reservation needs this package: without it servers keep their share.
"""
