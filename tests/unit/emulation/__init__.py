# SPDX-License-Identifier: Apache-2.0

"""Tests of the emulated kernels: each rule of the facts once."""
