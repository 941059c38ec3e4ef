# SPDX-License-Identifier: Apache-2.0

"""The SIP registrar of section 6.4: Kamailio and MariaDB, with SIPp."""
