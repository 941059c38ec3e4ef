# SPDX-License-Identifier: Apache-2.0

"""The functions of libbpf that the monitor needs, and nothing of servers."""

from collections.abc import Callable, Iterator
import ctypes
import enum
import errno
import functools
import os

from nova_rt.rules import exception

_LIBRARY = 'libbpf.so.1'
#: BPF_F_TEST_RUN_ON_CPU.
_ON_CPU = 1
_STORED = 8
#: Of a place in a map, where a call for many values went to, at least.
_PLACE = 4
#: How many values are asked for in one call, at first.
_AT_ONCE = 64
#: Of such a call: there was room, the end is reached, or there was no room.
_FOUND = (0, -errno.ENOENT, -errno.ENOSPC)
_REASONS = {
    errno.EPERM: 'the kernel refuses it (EPERM): it takes CAP_BPF and '
                 'CAP_PERFMON, for networks CAP_NET_ADMIN too, as root has '
                 'them',
    errno.EACCES: 'the verifier of the kernel refuses the program (EACCES)',
    errno.ENOENT: 'the kernel lacks what the program reads (ENOENT)',
    errno.ESRCH: 'the kernel lacks its types (CONFIG_DEBUG_INFO_BTF) or an '
                 'event that the program needs (ESRCH)',
    errno.EINVAL: 'the kernel does not take the program (EINVAL); it must be '
                  'Linux 5.13 or newer with CONFIG_DEBUG_INFO_BTF',
    errno.E2BIG: 'the program is too complex for the kernel (E2BIG)',
}


class Way(enum.IntEnum):
    """Which way packets pass: ``BPF_TCX_INGRESS`` and ``BPF_TCX_EGRESS``."""

    IN = 46
    OUT = 47


class _RunOptions(ctypes.Structure):
    """``struct bpf_test_run_opts``."""

    _fields_ = (
        ('sz', ctypes.c_size_t),
        ('data_in', ctypes.c_void_p), ('data_out', ctypes.c_void_p),
        ('data_size_in', ctypes.c_uint32),
        ('data_size_out', ctypes.c_uint32),
        ('ctx_in', ctypes.c_void_p), ('ctx_out', ctypes.c_void_p),
        ('ctx_size_in', ctypes.c_uint32), ('ctx_size_out', ctypes.c_uint32),
        ('retval', ctypes.c_uint32), ('repeat', ctypes.c_int),
        ('duration', ctypes.c_uint32), ('flags', ctypes.c_uint32),
        ('cpu', ctypes.c_uint32), ('batch_size', ctypes.c_uint32))


@functools.cache
def _library() -> ctypes.CDLL:
    """:raises CannotMonitor: it is not installed"""
    try:
        found = ctypes.CDLL(_LIBRARY, use_errno=True)
    except OSError as error:
        raise exception.CannotMonitor(
            what='with eBPF', reason=f'{_LIBRARY} is not installed; the '
            f'package is libbpf1 (Debian, Ubuntu) or libbpf') from error
    for name in ('object__open_file', 'object__next_program',
                 'object__find_map_by_name', 'object__find_program_by_name',
                 'program__attach', 'program__attach_iter',
                 'program__attach_cgroup', 'program__section_name'):
        getattr(found, f'bpf_{name}').restype = ctypes.c_void_p
    found.bpf_program__section_name.restype = ctypes.c_char_p
    for name in ('key_size', 'value_size', 'max_entries'):
        getattr(found, f'bpf_map__{name}').restype = ctypes.c_uint32
    # What the verifier has to say of our programs is of no use to others.
    found.libbpf_set_print(None)
    return found


def why(number: int) -> str:
    """An errno of libbpf as a part of a sentence."""
    return _REASONS.get(number, os.strerror(number))


class Map:
    """A map of an object; keys and values are bytes.

    :ivar width: copies of each value, one for each CPU that can be
    """

    def __init__(self, handle: int, per_cpu: bool) -> None:
        library = _library()
        pointer = ctypes.c_void_p(handle)
        self._file = library.bpf_map__fd(pointer)
        self._key = library.bpf_map__key_size(pointer)
        size = library.bpf_map__value_size(pointer)
        self.entries = int(library.bpf_map__max_entries(pointer))
        self.width = library.libbpf_num_possible_cpus() if per_cpu else 1
        if per_cpu:
            size = -(-size // _STORED) * _STORED
        self._size = size * self.width

    def get(self, key: bytes) -> bytes | None:
        """All copies of a value, one after the other; None for no key."""
        into = ctypes.create_string_buffer(self._size)
        if _library().bpf_map_lookup_elem(self._file, key, into):
            return None
        return into.raw

    def put(self, key: bytes, value: bytes) -> None:
        """Set a value.

        :param value: all its copies
        :raises OSError: the map is full, for one
        """
        _checked(_library().bpf_map_update_elem(
            self._file, key, value, ctypes.c_uint64(0)))

    def clear(self, key: bytes) -> None:
        """Set a value to zeros."""
        self.put(key, bytes(self._size))

    def remove(self, key: bytes) -> None:
        """Without an error where there is none."""
        _library().bpf_map_delete_elem(self._file, key)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All keys and values, many in a call of the kernel.

        Those added meanwhile may be missing.

        :raises OSError: the kernel has no such call for this kind of map
        """
        count, place, first = _AT_ONCE, ctypes.create_string_buffer(
            max(self._key, _PLACE)), None
        while True:
            keys = ctypes.create_string_buffer(count * self._key)
            values = ctypes.create_string_buffer(count * self._size)
            found = ctypes.c_uint32(count)
            result = _library().bpf_map_lookup_batch(
                self._file, first, place, keys, values,
                ctypes.byref(found), None)
            if result not in _FOUND:
                _checked(result)
            yield from zip(_parts(keys, self._key, found.value),
                           _parts(values, self._size, found.value),
                           strict=True)
            if result == -errno.ENOENT:
                return
            if result:  # what is together in the map has no room
                count *= 2
            else:
                first = place

    def keys(self) -> Iterator[bytes]:
        """All keys; those added meanwhile may be missing."""
        last: bytes | None = None
        while True:
            into = ctypes.create_string_buffer(self._key)
            if _library().bpf_map_get_next_key(self._file, last, into):
                return
            last = into.raw
            yield last


class Object:
    """An object of compiled programs, loaded into the kernel.

    Everything goes with it: nothing is pinned.
    """

    def __init__(self, path: str) -> None:
        """Load.

        :param path: of the object
        :raises CannotMonitor: the kernel does not take it
        """
        library = _library()
        self._path = path
        self._links: dict[str, int] = {}
        self._handle = library.bpf_object__open_file(os.fsencode(path), None)
        if not self._handle:
            raise self._refused(ctypes.get_errno())
        result = library.bpf_object__load(ctypes.c_void_p(self._handle))
        if result:
            self.close()
            raise self._refused(-result)

    def attach(self) -> None:
        """Attach the programs of events and iterators.

        :raises CannotMonitor: one cannot be
        """
        library = _library()
        for program in self._programs():
            section = library.bpf_program__section_name(
                ctypes.c_void_p(program)).decode()
            if section.startswith('tp_btf/'):
                self._link(program, section,
                           library.bpf_program__attach)
            elif section.startswith('iter/'):
                self._link(program, section, lambda found: (
                    library.bpf_program__attach_iter(found, None)))

    def attach_to_group(self, name: str, group: int) -> None:
        """Attach a program to the control group of an open file.

        :raises CannotMonitor: it cannot be
        """
        self._link(self._program(name), name, lambda program: (
            _library().bpf_program__attach_cgroup(program, group)))

    def attach_to_interface(self, name: str, index: int, way: Way) -> int:
        """Attach a program to a network interface of this host.

        :returns: a descriptor; when it is closed the program goes
        :raises OSError: the interface is gone, or the kernel has no tcx
        """
        library = _library()
        handle = library.bpf_program__fd(ctypes.c_void_p(self._program(name)))
        return _checked(library.bpf_link_create(handle, index, way, None))

    def map(self, name: str, per_cpu: bool = False) -> Map:
        """:raises LookupError: there is none of this name"""
        found = _library().bpf_object__find_map_by_name(
            ctypes.c_void_p(self._handle), name.encode())
        if not found:
            raise LookupError(name)
        return Map(found, per_cpu)

    def run(self, name: str, cpu: int) -> None:
        """Run a program on one CPU.

        :raises OSError: the CPU is offline, for one
        """
        given = _RunOptions(sz=ctypes.sizeof(_RunOptions), flags=_ON_CPU,
                            cpu=cpu)
        handle = _library().bpf_program__fd(
            ctypes.c_void_p(self._program(name)))
        _checked(_library().bpf_prog_test_run_opts(
            handle, ctypes.byref(given)))

    def walk(self, section: str) -> bytes:
        """Run an iterator to its end; what it wrote."""
        link = _library().bpf_link__fd(ctypes.c_void_p(self._links[section]))
        handle = _checked(_library().bpf_iter_create(link))
        try:
            parts = []
            while part := os.read(handle, 1 << 16):
                parts.append(part)
            return b''.join(parts)
        finally:
            os.close(handle)

    def detach(self) -> None:
        """Take the programs away from events; they stay in the kernel."""
        for link in self._links.values():
            _library().bpf_link__destroy(ctypes.c_void_p(link))
        self._links = {}

    def close(self) -> None:
        """Take all of it out of the kernel."""
        library = _library()
        self.detach()
        if self._handle:
            library.bpf_object__close(ctypes.c_void_p(self._handle))
        self._handle = None

    def _link(self, program: int, key: str,
              attach: Callable[..., int | None]) -> None:
        link = attach(ctypes.c_void_p(program))
        if not link:
            number = ctypes.get_errno()
            self.close()
            raise self._refused(number)
        self._links[key] = link

    def _program(self, name: str) -> int:
        found: int | None = _library().bpf_object__find_program_by_name(
            ctypes.c_void_p(self._handle), name.encode())
        if not found:
            raise LookupError(name)
        return found

    def _programs(self) -> Iterator[int]:
        last = None
        while last := _library().bpf_object__next_program(
                ctypes.c_void_p(self._handle), ctypes.c_void_p(last)):
            yield last

    def _refused(self, number: int) -> exception.CannotMonitor:
        name = os.path.basename(self._path).partition('.')[0]
        return exception.CannotMonitor(what=name, reason=why(number))


def _parts(buffer: 'ctypes.Array[ctypes.c_char]', size: int, count: int
           ) -> Iterator[bytes]:
    view = memoryview(buffer)
    for begin in range(0, size * count, size):
        yield bytes(view[begin:begin + size])


def _checked(result: int) -> int:
    """:raises OSError: *result* is an error of libbpf"""
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result
