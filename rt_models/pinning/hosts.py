# SPDX-License-Identifier: Apache-2.0

"""Reads the CPUs of a host from sysfs, from a copy of sysfs, or from hwloc.

hwloc's program ``lstopo`` writes the XML of hwloc 1 and 2 (``lstopo x.xml``).
"""

from collections.abc import Iterator
import pathlib
# The file is one that the user names, and its declared entities are refused.
import xml.etree.ElementTree as ET  # noqa: S405

from nova_rt.rules import cpulist
from nova_rt.rules import exception
from rt_models.pinning import topology

_CPUS = 'sys/devices/system/cpu'
_NAME = '--host'
#: The kinds of cores of x86, with the faster one first; on other machines
#: cpu_capacity tells.
_KINDS = ('cpu_core', 'cpu_atom')
_MOST_BYTES = 64 << 20


def read(path: str) -> topology.Host:
    """Returns the host that a folder with sysfs or an XML file describes.

    :param path: '/' for this host, a folder with a copy of ``sys``, or a file
    :raises InvalidPinning: when *path* does not describe a host
    """
    place = pathlib.Path(path)
    try:
        if place.is_dir():
            cpus = tuple(_sysfs_cpus(place))
        else:
            cpus = tuple(_hwloc_cpus(place))
    except (OSError, ValueError, ET.ParseError) as error:
        raise exception.InvalidPinning(
            name=_NAME, value=path, rule='it must be a folder with a copy of '
            f'/sys/devices/system/cpu, or an XML file of hwloc: {error}'
        ) from error
    if not cpus:
        raise exception.InvalidPinning(
            name=_NAME, value=path, rule='it must describe at least one CPU')
    return topology.Host('this host' if path == '/' else path, cpus)


def _sysfs_cpus(root: pathlib.Path) -> Iterator[topology.CPU]:
    folder = root / _CPUS
    kinds = _kinds(root)
    online = folder / 'online'
    numbers = (cpulist.parse_ids(_text(online)) if online.is_file() else
               sorted(int(path.name[3:]) for path in folder.glob(
                   'cpu[0-9]*')))
    for number in numbers:
        cpu = folder / f'cpu{number}'
        if _number(cpu / 'online') == 0:
            continue
        socket = _number(cpu / 'topology/physical_package_id') or 0
        siblings = _mask_at(cpu / 'topology/thread_siblings')
        yield topology.CPU(
            number, socket, _lowest(siblings or 1 << number),
            _last_cache(cpu) or ('socket', socket),
            _number(cpu / 'cpu_capacity') or kinds.get(number, 0))


def _number(path: pathlib.Path) -> int | None:
    try:
        return int(_text(path))
    except FileNotFoundError:
        return None


def _text(path: pathlib.Path) -> str:
    # Copies of sysfs may have the end of a page, too.
    return path.read_text().strip('\n\0 ')


def _mask_at(path: pathlib.Path) -> int:
    """Returns the bit mask of CPUs in a file; 0 if there is no file."""
    try:
        return _mask(_text(path))
    except FileNotFoundError:
        return 0


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _last_cache(cpu: pathlib.Path) -> tuple[int, int] | None:
    """Returns the level and the CPUs of the largest cache of a CPU."""
    caches = [(level, _mask_at(index / 'shared_cpu_map'))
              for index in cpu.glob('cache/index[0-9]*')
              if (level := _number(index / 'level')) is not None]
    return max(caches, default=None)


def _kinds(root: pathlib.Path) -> dict[int, int]:
    kinds: dict[int, int] = {}
    for kind, name in enumerate(reversed(_KINDS), 1):
        path = root / 'sys/devices' / name / 'cpus'
        if path.is_file():
            kinds |= dict.fromkeys(
                cpulist.parse_ids(_text(path)), kind)
    return kinds


def _hwloc_cpus(path: pathlib.Path) -> Iterator[topology.CPU]:
    with path.open('rb') as file:
        data = file.read(_MOST_BYTES)
    if b'<!ENTITY' in data:
        raise ValueError('the file declares entities')
    root = ET.fromstring(data)  # noqa: S314
    if root.tag != 'topology':
        raise ValueError(f'its first element is {root.tag}, not topology')
    kinds = _hwloc_kinds(root)
    for machine in root.findall('object'):
        yield from _walk(machine, _Above(), kinds)


class _Above:
    """The objects that enclose an object of hwloc."""

    def __init__(self, socket: int = 0, core: int | None = None,
                 cache: tuple[int, str] | None = None) -> None:
        self.socket, self.core, self.cache = socket, core, cache


def _walk(node: ET.Element, above: _Above, kinds: list[tuple[int, int]]
          ) -> Iterator[topology.CPU]:
    kind, number = node.get('type', ''), int(node.get('os_index', '-1'))
    socket, core, cache = above.socket, above.core, above.cache
    if kind in ('Package', 'Socket'):
        socket = number
    elif kind == 'Core':
        core = number
    elif _is_cache(kind) and cache is None:
        # The outermost cache is the largest one.
        cache = int(node.get('depth', '0')), node.get('cpuset', '')
    elif kind == 'PU':
        yield topology.CPU(
            number, socket, number if core is None else core,
            cache or ('socket', socket),
            next((rank for cpus, rank in kinds if cpus >> number & 1), 0))
    for child in node.findall('object'):
        yield from _walk(child, _Above(socket, core, cache), kinds)


def _is_cache(kind: str) -> bool:
    """Tells whether an object is a cache of hwloc 2 (L3Cache) or 1 (Cache)."""
    return kind == 'Cache' or kind in ('L2Cache', 'L3Cache', 'L4Cache',
                                       'L5Cache')


def _hwloc_kinds(root: ET.Element) -> list[tuple[int, int]]:
    """Returns the CPUs of each kind as a bit mask, and its efficiency."""
    return [(_mask(kind.get('cpuset', '')),
             1 + int(kind.get('forced_efficiency')
                     or kind.get('efficiency') or number))
            for number, kind in enumerate(root.findall('cpukind'))]


def _mask(text: str) -> int:
    """Returns the value of a bitmap such as ``0x1,0x000000ff``.

    The kernel writes bitmaps without ``0x``.
    """
    mask = 0
    for word in text.split(','):
        mask = mask << 32 | (int(word, 16) if word else 0)
    return mask
