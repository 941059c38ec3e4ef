# SPDX-License-Identifier: Apache-2.0

"""Repeats the experiments of the paper (section 6): ``run.sh`` (--help)."""
