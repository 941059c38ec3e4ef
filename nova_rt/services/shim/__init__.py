# SPDX-License-Identifier: Apache-2.0

"""The directory that joins ``nova.virt``; see nova_rt.services.install."""
