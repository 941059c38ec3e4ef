# SPDX-License-Identifier: Apache-2.0

"""Reads descriptors: takes parsed YAML, returns reservations of VDUs."""
