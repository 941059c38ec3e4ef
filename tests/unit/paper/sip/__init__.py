# SPDX-License-Identifier: Apache-2.0

"""Tests of the SIP registrar's experiment."""
