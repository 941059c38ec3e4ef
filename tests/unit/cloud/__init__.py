# SPDX-License-Identifier: Apache-2.0

"""Parts of the test clouds that need no cloud."""
