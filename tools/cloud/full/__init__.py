# SPDX-License-Identifier: Apache-2.0

"""The full cloud, in which every service is a process of its own.

The cloud has MariaDB, RabbitMQ, Heat, Tacker and two nova-computes. Each
nova-compute runs on a node that is a set of namespaces.
"""
