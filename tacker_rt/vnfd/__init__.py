# SPDX-License-Identifier: Apache-2.0

"""What a descriptor says: parsed YAML in, reservations of VDUs out."""
