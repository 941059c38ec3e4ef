# SPDX-License-Identifier: Apache-2.0

"""The code that the commands of all packages share.

This package has the parser, the output formats, the exit statuses, and the
sentence about a package that is not installed.  No command lives here.
"""
