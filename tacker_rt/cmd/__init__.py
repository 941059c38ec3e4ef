# SPDX-License-Identifier: Apache-2.0

"""The console script ``tacker-rt``."""
