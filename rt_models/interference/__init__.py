# SPDX-License-Identifier: Apache-2.0

"""How much network functions on a host disturb each other (paper 002).

This package reads the file with the measured numbers, and predicts from them
the throughput of a host.  It measures nothing.
"""
