# SPDX-License-Identifier: Apache-2.0

"""Scheduler filters; ``nova_rt.scheduler.filters`` has their public names."""
