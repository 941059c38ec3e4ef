# SPDX-License-Identifier: Apache-2.0

"""Checks the files of a package (CSAR), and makes packages."""
