"""The part of nova_rt that runs in nova-api."""
