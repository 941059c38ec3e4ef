# SPDX-License-Identifier: Apache-2.0

"""What Heat is given: hints and flavors in its templates."""
