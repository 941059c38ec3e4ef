# SPDX-License-Identifier: Apache-2.0

"""Watches from outside what servers use, wait for and answer.

Programs in the kernel count (``programs``).  The modules of this package read
the counts and report them.  No code that makes reservations imports this
package.
"""
