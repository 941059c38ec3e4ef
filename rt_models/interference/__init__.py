# SPDX-License-Identifier: Apache-2.0

"""Who disturbs whom on a host, and by how much (paper 002).

The file with the numbers, what is predicted from them, and the text in which
a host says who runs there.  Nothing is measured here.
"""
