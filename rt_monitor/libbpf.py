# SPDX-License-Identifier: Apache-2.0

"""The functions of libbpf that the monitor needs."""

from collections.abc import Callable, Iterator, Mapping
import ctypes
import enum
import errno
import functools
import os
import sys
import types

from nova_rt.rules import exception

_LIBRARY = 'libbpf.so.1'
#: BPF_F_TEST_RUN_ON_CPU.
_ON_CPU = 1
_STORED = 8
#: The first bytes of bpf_prog_info, and the place of recursion_misses in them.
_INFO_SIZE, _MISSED_AT = 216, 208
#: The least size of a place in a map, at which a batch call continues.
_PLACE = 4
#: How many values the first batch call reads.
_AT_ONCE = 64
#: The results of a batch call that are not errors: there was room, the end of
#: the map is reached, or there was not enough room.
_FOUND = (0, -errno.ENOENT, -errno.ENOSPC)
#: The reason for a source to be off in an installation without programs.
BUILD = ('this nova-rt was built without its eBPF programs '
         '(NOVA_RT_WITHOUT_BPF); install a wheel that has them, or, in a '
         'checkout, clang and libbpf-dev, and run '
         'rt_monitor/programs/build.sh')
_REASONS = {
    errno.EPERM: 'the kernel refuses the program (EPERM); run the command '
                 'as root, or with CAP_BPF and CAP_PERFMON, and for network '
                 'interfaces also CAP_NET_ADMIN',
    errno.EACCES: 'the verifier of the kernel refuses the program (EACCES)',
    errno.ENOENT: 'the kernel lacks data that the program reads (ENOENT)',
    errno.ESRCH: 'the kernel lacks type information (CONFIG_DEBUG_INFO_BTF) '
                 'or an event that the program needs (ESRCH)',
    errno.EINVAL: 'the kernel does not accept the program (EINVAL); it must '
                  'be Linux 5.13 or newer with CONFIG_DEBUG_INFO_BTF, and 6.5 '
                  'or newer for transactions (tcp)',
    errno.EBUSY: 'the kernel lets no program run at its functions (EBUSY); it '
                 'must have CONFIG_FUNCTION_TRACER, or be Linux 6.16 or newer',
    errno.E2BIG: 'the program is too complex for the kernel (E2BIG)',
}


class Way(enum.IntEnum):
    """The direction of packets: BPF_TCX_INGRESS or BPF_TCX_EGRESS."""

    IN = 46
    OUT = 47


class _RunOptions(ctypes.Structure):
    """The structure ``bpf_test_run_opts`` of libbpf."""

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
    """Returns libbpf with the types of its functions.

    :raises CannotMonitor: when libbpf is not installed
    """
    try:
        library = ctypes.CDLL(_LIBRARY, use_errno=True)
    except OSError as error:
        raise exception.CannotMonitor(
            what='with eBPF', reason=f'{_LIBRARY} is not installed; the '
            f'package is libbpf1 (Debian, Ubuntu) or libbpf') from error
    for name in ('object__open_file', 'object__next_program',
                 'object__find_map_by_name', 'object__find_program_by_name',
                 'program__attach', 'program__attach_iter',
                 'program__section_name'):
        getattr(library, f'bpf_{name}').restype = ctypes.c_void_p
    library.bpf_program__section_name.restype = ctypes.c_char_p
    library.bpf_program__autoload.restype = ctypes.c_bool
    for name in ('key_size', 'value_size', 'max_entries'):
        getattr(library, f'bpf_map__{name}').restype = ctypes.c_uint32
    # The output of the verifier about our programs does not help a user.
    library.libbpf_set_print(None)
    return library


def why(number: int) -> str:
    """Returns an errno of libbpf as a part of a sentence."""
    return _REASONS.get(number, os.strerror(number))


def programs_at(index: int, way: Way) -> int:
    """Returns the number of programs at a network interface of this host.

    :raises OSError: when the kernel has no tcx, or refuses to tell
    """
    count = ctypes.c_uint32()
    _checked(_library().bpf_prog_query(index, way, 0, None, None,
                                       ctypes.byref(count)))
    return count.value


class Map:
    """A map of an object; keys and values are bytes.

    :ivar width: the number of copies of each value: one for each possible
        CPU in a map by CPU, otherwise 1
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
        """Returns all copies of a value, one after the other.

        :returns: None if the map does not have the key
        """
        into = ctypes.create_string_buffer(self._size)
        if _library().bpf_map_lookup_elem(self._file, key, into):
            return None
        return into.raw

    def put(self, key: bytes, value: bytes) -> None:
        """Sets a value.

        :param value: all copies of the value
        :raises OSError: when the kernel refuses, for example because the map
            is full
        """
        _checked(_library().bpf_map_update_elem(
            self._file, key, value, ctypes.c_uint64(0)))

    def clear(self, key: bytes) -> None:
        """Sets a value to zeros.

        :raises OSError: when the kernel refuses, for example because the map
            is full
        """
        self.put(key, bytes(self._size))

    def remove(self, key: bytes) -> None:
        """Removes a key; does nothing where the map does not have it."""
        _library().bpf_map_delete_elem(self._file, key)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields all keys and values, with many in each system call.

        Keys that are added in the meantime may be missing.

        :raises OSError: when the kernel has no batch call for this kind of
            map
        """
        count, place, first = _AT_ONCE, ctypes.create_string_buffer(
            max(self._key, _PLACE)), None
        while True:
            keys = ctypes.create_string_buffer(count * self._key)
            values = ctypes.create_string_buffer(count * self._size)
            read = ctypes.c_uint32(count)
            result = _library().bpf_map_lookup_batch(
                self._file, first, place, keys, values,
                ctypes.byref(read), None)
            if result not in _FOUND:
                _checked(result)
            yield from zip(_parts(keys, self._key, read.value),
                           _parts(values, self._size, read.value),
                           strict=True)
            if result == -errno.ENOENT:
                return
            if result:  # the buffer has no room for a whole hash bucket
                count *= 2
            else:
                first = place

    def keys(self) -> Iterator[bytes]:
        """Yields all keys; keys added in the meantime may be missing."""
        last: bytes | None = None
        while True:
            into = ctypes.create_string_buffer(self._key)
            if _library().bpf_map_get_next_key(self._file, last, into):
                return
            last = into.raw
            yield last


class Object:
    """An object file of compiled programs that is loaded into the kernel.

    Nothing is pinned, so closing the object removes everything.
    """

    def __init__(self, path: str,
                 instead: Mapping[str, str] = types.MappingProxyType({})
                 ) -> None:
        """Loads the programs.

        :param path: the path of the object file
        :param instead: for each program whose event some kernels lack, the
            program that takes its place on these kernels
        :raises CannotMonitor: when the programs were not compiled, or the
            kernel does not accept them
        """
        self._path = path
        if not os.path.exists(path):
            raise self._refused(BUILD)
        self._links: dict[str, int] = {}
        self._handle: int | None = None
        result = self._load({})
        if result == -errno.ESRCH and instead:
            self.close()
            result = self._load(instead)
        if result:
            self.close()
            raise self._refused(why(-result))

    def _load(self, instead: Mapping[str, str]) -> int:
        """Loads the programs and returns 0 or a negative errno."""
        library = _library()
        self._handle = library.bpf_object__open_file(
            os.fsencode(self._path), None)
        if not self._handle:
            return -ctypes.get_errno()
        for name, other in instead.items():
            for each, wanted in ((name, False), (other, True)):
                library.bpf_program__set_autoload(
                    ctypes.c_void_p(self._program(each)), wanted)
        return int(library.bpf_object__load(ctypes.c_void_p(self._handle)))

    def attach(self) -> None:
        """Attaches the programs for events, functions and iterators.

        :raises CannotMonitor: when a program cannot be attached
        """
        library = _library()
        for program in self._programs():
            section = library.bpf_program__section_name(
                ctypes.c_void_p(program)).decode()
            if not library.bpf_program__autoload(ctypes.c_void_p(program)):
                continue
            if section.startswith(('tp_btf/', 'fentry/')):
                self._link(program, section,
                           library.bpf_program__attach)
            elif section.startswith('iter/'):
                self._link(program, section, lambda pointer: (
                    library.bpf_program__attach_iter(pointer, None)))

    def attach_to_interface(self, name: str, index: int, way: Way) -> int:
        """Attaches a program to a network interface of this host.

        :returns: a descriptor; closing it detaches the program
        :raises OSError: when the interface is gone, or the kernel has no tcx
        """
        library = _library()
        handle = library.bpf_program__fd(ctypes.c_void_p(self._program(name)))
        return _checked(library.bpf_link_create(handle, index, way, None))

    def map(self, name: str, per_cpu: bool = False) -> Map:
        """Returns a map of the programs.

        :param per_cpu: whether the map has a copy of each value for each CPU
        :raises LookupError: when there is no map of this name
        """
        handle = _library().bpf_object__find_map_by_name(
            ctypes.c_void_p(self._handle), name.encode())
        if not handle:
            raise LookupError(name)
        return Map(handle, per_cpu)

    def run(self, name: str, cpu: int) -> None:
        """Runs a program on one CPU.

        :raises OSError: when the kernel refuses, for example because the CPU
            is offline
        """
        options = _RunOptions(sz=ctypes.sizeof(_RunOptions), flags=_ON_CPU,
                              cpu=cpu)
        handle = _library().bpf_program__fd(
            ctypes.c_void_p(self._program(name)))
        _checked(_library().bpf_prog_test_run_opts(
            handle, ctypes.byref(options)))

    def missed_runs(self) -> int:
        """Returns how many events the kernel did not give to the programs.

        On one CPU, a program does not run for two tasks at once.  So if a task
        is preempted in a program, the program misses the events of other tasks
        on this CPU (recursion_misses in bpf_prog_info, Linux 5.12).

        :raises OSError: when the kernel does not tell
        """
        library = _library()
        return sum(_missed(library.bpf_program__fd(ctypes.c_void_p(program)))
                   for program in self._programs()
                   if library.bpf_program__autoload(ctypes.c_void_p(program)))

    def walk(self, section: str) -> bytes:
        """Runs an iterator to its end and returns its output."""
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
        """Detaches the programs from their events, but keeps them loaded."""
        for link in self._links.values():
            _library().bpf_link__destroy(ctypes.c_void_p(link))
        self._links = {}

    def close(self) -> None:
        """Removes the programs and their maps from the kernel."""
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
            raise self._refused(why(number))
        self._links[key] = link

    def _program(self, name: str) -> int:
        program: int | None = _library().bpf_object__find_program_by_name(
            ctypes.c_void_p(self._handle), name.encode())
        if not program:
            raise LookupError(name)
        return program

    def _programs(self) -> Iterator[int]:
        last = None
        while last := _library().bpf_object__next_program(
                ctypes.c_void_p(self._handle), ctypes.c_void_p(last)):
            yield last

    def _refused(self, reason: str) -> exception.CannotMonitor:
        name = os.path.basename(self._path).partition('.')[0]
        return exception.CannotMonitor(what=name, reason=reason)


def _missed(handle: int) -> int:
    """Returns how many events a program missed."""
    info = ctypes.create_string_buffer(_INFO_SIZE)
    size = ctypes.c_uint32(_INFO_SIZE)
    _checked(_library().bpf_obj_get_info_by_fd(handle, info,
                                               ctypes.byref(size)))
    return int.from_bytes(info.raw[_MISSED_AT:], sys.byteorder)


def _parts(buffer: 'ctypes.Array[ctypes.c_char]', size: int, count: int
           ) -> Iterator[bytes]:
    view = memoryview(buffer)
    for begin in range(0, size * count, size):
        yield bytes(view[begin:begin + size])


def _checked(result: int) -> int:
    """Returns the result of a function of libbpf.

    :raises OSError: when *result* is an error
    """
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result
