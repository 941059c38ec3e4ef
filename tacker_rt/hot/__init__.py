# SPDX-License-Identifier: Apache-2.0

"""Classes that heat-translator uses for VDUs and policies."""
