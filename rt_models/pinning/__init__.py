# SPDX-License-Identifier: Apache-2.0

"""Advises how a workload should have its CPUs: pinned, reserved or shared.

This package has the rules with their sources (paper 001, and measurements of
this project), and the ratio of a container's cores to those of its host.
"""
