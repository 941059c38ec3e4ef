# SPDX-License-Identifier: Apache-2.0

"""Predicts how much network functions on a host disturb each other (paper
002).

This package reads the file with the measured numbers, and predicts the
throughput of a host from these numbers.  It measures nothing.
"""
