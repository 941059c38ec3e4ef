# SPDX-License-Identifier: Apache-2.0

"""Tests of what the guests of tests/full/kernel/kvm run."""
