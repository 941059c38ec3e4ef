"""The libvirt driver that applies reservations."""
