# SPDX-License-Identifier: Apache-2.0

"""The part of nova_rt that runs in nova-scheduler."""
