# SPDX-License-Identifier: Apache-2.0

"""What servers are told apart by, from Tacker over Nova to libvirt's files."""

#: Key of the metadata of a server in Nova: the VNF that it belongs to.
VNF_KEY = 'tacker_rt.vnf'
#: Of the element that libvirt keeps beside Nova's own metadata.
NAMESPACE = 'urn:nova-rt:server:1'
#: And of the mark of a guest that Nova's database does not have.
UNKNOWN = 'urn:nova-rt:unknown:1'
