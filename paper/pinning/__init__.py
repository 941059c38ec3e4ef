# SPDX-License-Identifier: Apache-2.0

"""Runs work in containers with and without reservation on a busy host."""
