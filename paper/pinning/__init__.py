# SPDX-License-Identifier: Apache-2.0

"""Work in a container with a reservation and without, on a busy host."""
