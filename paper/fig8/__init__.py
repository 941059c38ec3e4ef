# SPDX-License-Identifier: Apache-2.0

"""Fig. 8 of the paper: a server beside a noisy neighbour on one pCPU."""
