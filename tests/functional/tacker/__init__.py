# SPDX-License-Identifier: Apache-2.0

"""Every sample through the code of Tacker, Heat and Nova, without a cloud.

These three run in processes of their own: ``layers/`` has what runs there.
"""
