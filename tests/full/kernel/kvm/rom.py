# SPDX-License-Identifier: Apache-2.0

"""The code of a guest: 64 KiB of our own, assembled when they are needed."""

import dataclasses
import pathlib
import subprocess

_SOURCE = pathlib.Path(__file__).with_name('guest.S')


@dataclasses.dataclass(frozen=True)
class Work:
    """The endless work of a vCPU; see guest.S.

    :ivar tick_ns: how often its own timer wakes it, for TIMER
    :ivar rounds: what it computes then, in rounds of two instructions
    """

    name: str
    tick_ns: int = 1
    rounds: int = 1


BUSY = Work('BUSY')
KERNEL = Work('KERNEL')
DEVICE = Work('DEVICE')


def assemble(work: Work, directory: pathlib.Path) -> pathlib.Path:
    """Makes the image of a guest with this work, in *directory*."""
    name = f'{work.name}-{work.tick_ns}-{work.rounds}'
    image = directory / f'{name}.rom'
    if not image.exists():
        unit = directory / f'{name}.o'
        subprocess.run(
            ['gcc', '-c', f'-DWORK={work.name}', f'-DTICK={work.tick_ns}',
             f'-DROUNDS={work.rounds}', '-o', unit, _SOURCE], check=True)
        subprocess.run(['ld', '-Ttext', '0', '--oformat', 'binary', '-o',
                        image, unit], check=True)
    return image
