# SPDX-License-Identifier: Apache-2.0

"""The libvirt driver that applies reservations."""
