# SPDX-License-Identifier: Apache-2.0

"""What is compared, one source with another; nothing is read here."""
