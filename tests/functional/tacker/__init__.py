# SPDX-License-Identifier: Apache-2.0

"""Runs every sample through code of Tacker, Heat and Nova, without a cloud.

Tacker, Heat and Nova run in processes of their own: ``layers/`` has their
scripts.
"""
