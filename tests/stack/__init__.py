# SPDX-License-Identifier: Apache-2.0

"""stack.sh of a real DevStack with the plugin, in a container of its own.

It takes an hour, and repositories that the user has: see ``repositories``.
"""
