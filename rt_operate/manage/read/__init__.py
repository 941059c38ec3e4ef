# SPDX-License-Identifier: Apache-2.0

"""What is read for a comparison: cells, Placement and this host's kernel."""
