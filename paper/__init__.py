# SPDX-License-Identifier: Apache-2.0

"""The experiments of the paper (section 6), again: ``run.sh`` (--help)."""
