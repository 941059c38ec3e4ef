# SPDX-License-Identifier: Apache-2.0

"""Hints and flavors in the templates that Heat gets."""
