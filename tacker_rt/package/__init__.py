# SPDX-License-Identifier: Apache-2.0

"""What a package (CSAR) holds, and packages made here."""
