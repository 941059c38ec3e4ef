# SPDX-License-Identifier: Apache-2.0

"""Tests of the experiments: programs and analysis, nothing that is timed."""
