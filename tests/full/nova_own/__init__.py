# SPDX-License-Identifier: Apache-2.0

"""Nova's own functional tests, without the plugin and with it.

``python -m tests.full.nova_own [MODULE ...]`` runs each module of Nova's
tests twice and compares.  Whatever passes without the plugin has to pass
with it.
"""
