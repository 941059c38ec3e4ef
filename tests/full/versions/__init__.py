# SPDX-License-Identifier: Apache-2.0

"""Two built versions of nova-rt: does each read what the other publishes?"""
