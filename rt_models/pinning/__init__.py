# SPDX-License-Identifier: Apache-2.0

"""How a workload should have its CPUs: pinned, reserved or shared.

The rules and their sources (paper 001, and what was found here), and the
ratio of the cores of a container to those of its host.
"""
