# SPDX-License-Identifier: Apache-2.0

"""Advises whether a workload should have pinned, reserved or shared CPUs.

This package has the rules with their sources (paper 001, and measurements of
this project), and the ratio of a container's cores to those of its host.
"""
