# SPDX-License-Identifier: Apache-2.0

"""Guests of KVM, reserved by the product's own enforcer; see __main__.py."""
