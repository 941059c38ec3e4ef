# SPDX-License-Identifier: Apache-2.0

"""Reads the types of an object of compiled programs (BTF).

The format is that of the kernel's Documentation/bpf/btf.rst.  Only what the
structs of maps need is read here.
"""

import dataclasses
import pathlib
import struct

#: The first bytes of the types of the kernel, which are in no section.
_MAGIC = b'\x9f\xeb'
_SECTION = struct.Struct('<IIQQQQIIQQ')
_HEADER = struct.Struct('<HBBIIIII')
_TYPE = struct.Struct('<III')
_INT, _ARRAY, _STRUCT, _UNION, _ENUM = 1, 3, 4, 5, 6
_FUNC_PROTO, _VAR, _DATASEC, _DECL_TAG, _ENUM64 = 13, 14, 15, 17, 19
#: typedef, volatile, const
_ALIASES = (8, 9, 10)
_SIGNED = 1
#: The bytes that follow a type, once or for each of its members.
_ONCE = {_INT: 4, _ARRAY: 12, _VAR: 4, _DECL_TAG: 4}
_EACH = {_STRUCT: 12, _UNION: 12, _ENUM: 8, _FUNC_PROTO: 8, _DATASEC: 12,
         _ENUM64: 12}


@dataclasses.dataclass(frozen=True)
class Type:
    """A type; *extra* is what follows its first 12 bytes."""

    name: str
    kind: int
    count: int
    size: int
    extra: bytes


class Types:
    """The types of an object file, or of the kernel, by number."""

    def __init__(self, path: pathlib.Path) -> None:
        data = path.read_bytes()
        if not data.startswith(_MAGIC):
            data = _section(data, b'.BTF')
        _, _, _, head, types, types_size, names, _ = _HEADER.unpack_from(data)
        self._names = data[head + names:]
        self.all = [Type('void', 0, 0, 0, b'')]
        at, end = head + types, head + types + types_size
        while at < end:
            name, info, size = _TYPE.unpack_from(data, at)
            kind, count = info >> 24 & 31, info & 0xffff
            length = _ONCE.get(kind, 0) + _EACH.get(kind, 0) * count
            at += _TYPE.size
            self.all.append(Type(self._name(name), kind, count, size,
                                 data[at:at + length]))
            at += length

    def _name(self, offset: int) -> str:
        return self._names[offset:self._names.index(0, offset)].decode()

    def structs(self) -> set[str]:
        """Returns the names of all structs."""
        return {each.name for each in self.all if each.kind == _STRUCT}

    def struct(self, name: str) -> Type:
        """Returns a struct by its name."""
        [found] = [each for each in self.all
                   if each.kind == _STRUCT and each.name == name]
        return found

    def layout(self, name: str) -> list[tuple[str, int, int]]:
        """Returns the members of a struct: name, offset and size."""
        found = []
        for index in range(self.struct(name).count):
            label, number, bits = _TYPE.unpack_from(
                self.struct(name).extra, 12 * index)
            found.append((self._name(label), bits // 8, self.size(number)))
        return found

    def narrow(self, name: str) -> list[str]:
        """Returns the members of a struct that are signed and below 64 bits.

        Arrays and pointers do not count.
        """
        found = []
        for index in range(self.struct(name).count):
            label, number, _ = _TYPE.unpack_from(
                self.struct(name).extra, 12 * index)
            while self.all[number].kind in _ALIASES:
                number = self.all[number].size
            of = self.all[number]
            if of.kind == _INT and of.extra[3] & _SIGNED and of.size < 8:
                found.append(self._name(label))
        return found

    def size(self, number: int) -> int:
        """Returns the size of a type in bytes."""
        found = self.all[number]
        if found.kind == _ARRAY:
            of, _, count = _TYPE.unpack(found.extra)
            return self.size(of) * count
        if found.kind in (_INT, _STRUCT, _UNION, _ENUM, _ENUM64):
            return found.size
        return self.size(found.size)  # a typedef, or const, or volatile


def _section(data: bytes, name: bytes) -> bytes:
    """Returns a section of an ELF file of 64 bits."""
    [start] = struct.unpack_from('<Q', data, 40)
    size, count, names = struct.unpack_from('<HHH', data, 58)
    headers = [_SECTION.unpack_from(data, start + index * size)
               for index in range(count)]
    label = headers[names][4]
    for header in headers:
        begin = label + header[0]
        if data[begin:data.index(b'\0', begin)] == name:
            return data[header[4]:header[4] + header[5]]
    raise LookupError(name)
