# SPDX-License-Identifier: Apache-2.0

"""Emulated kernels, to run the production code on in tests."""
