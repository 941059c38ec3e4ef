# SPDX-License-Identifier: Apache-2.0

"""The console scripts: their arguments, output and exit statuses."""
