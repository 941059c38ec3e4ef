# SPDX-License-Identifier: Apache-2.0

"""The full cloud, in which every service is a process of its own.

MariaDB and RabbitMQ below, Heat and Tacker above, and two nova-computes, each
on a node that is a set of namespaces.
"""
