# SPDX-License-Identifier: Apache-2.0

"""Network functions side by side: what each does beside each other one.

Functions are started from profiles, in namespaces and control groups of their
own, alone and in pairs; what they did becomes a file of
``rt_models.interference``.
"""
