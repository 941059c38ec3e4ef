# SPDX-License-Identifier: Apache-2.0

"""Names of the metadata of a server in Tacker, Nova and libvirt."""

#: Key in the metadata of a server in Nova; its value is the VNF of the server.
VNF_KEY = 'tacker_rt.vnf'
#: XML namespace of the element that nova-rt adds to Nova's own metadata.
NAMESPACE = 'urn:nova-rt:server:1'
#: XML namespace of the mark of a guest that Nova's database does not have.
UNKNOWN = 'urn:nova-rt:unknown:1'
#: XML namespace of the mark of a guest that no audit could give its
#: reservation.
UNSERVED = 'urn:nova-rt:unserved:1'
