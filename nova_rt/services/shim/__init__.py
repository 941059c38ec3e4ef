# SPDX-License-Identifier: Apache-2.0

"""The directory that is added to ``nova.virt``; see ``services.install``."""
