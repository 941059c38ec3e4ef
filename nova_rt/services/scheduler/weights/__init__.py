# SPDX-License-Identifier: Apache-2.0

"""Scheduler weighers; ``nova_rt.scheduler.weights`` has their public names."""
