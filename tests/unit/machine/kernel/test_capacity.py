# SPDX-License-Identifier: Apache-2.0

"""Property: what capacity() promises, the kernel takes.

The promise is in ppm, rounded up for each reservation; the kernel counts in
20 bits, truncated, over the whole tree and after every single write.
"""


import hypothesis
from hypothesis import strategies as st

from nova_rt.rules import reservation
from tests.emulation import clock
from tests.emulation import rt_group_sched as emulation
from tests.unit.machine.kernel import base

PERIODS = st.one_of(
    st.integers(1_000, 1_000_000), st.integers(2, 4_194_304),
    st.sampled_from((1_000, 10_000, 100_000, 200_000, 1_000_000)))


@st.composite
def ratios(draw: st.DrawFn) -> tuple[int, int]:
    period = draw(PERIODS)
    return draw(st.integers(1, period)), period


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[int, tuple[int, int] | None]]:
    """(guest, reservation or None for its release)."""
    return draw(st.lists(st.tuples(
        st.integers(0, 5), st.one_of(st.none(), ratios(), ratios())),
        min_size=1, max_size=25))


LAYOUTS = st.sampled_from((
    '/machine/lxc-{}-x.libvirt-lxc',
    '/machine.slice/machine-lxc{}.scope/libvirt',
    '/machine.slice/machine-lxc{}.scope/libvirt/inner'))


class PromiseTest(base.KernelTest):
    """Each example has its own kernel."""

    @hypothesis.settings(max_examples=300, deadline=None)
    @hypothesis.given(
        layout=LAYOUTS, plan=steps(), foreign=st.lists(ratios(), max_size=3),
        root=st.sampled_from(((950_000, 1_000_000), (123_457, 999_983),
                              (700_001, 1_000_000), (3, 7))))
    def test_all_that_fits_is_taken(
            self, layout: str,
            plan: list[tuple[int, tuple[int, int] | None]],
            foreign: list[tuple[int, int]], root: tuple[int, int]) -> None:
        kernel = emulation.Kernel()
        with clock.waiting(kernel.clock):
            self._run(kernel, layout, plan, foreign, root)

    def _run(self, kernel: emulation.Kernel, layout: str,
             plan: list[tuple[int, tuple[int, int] | None]],
             foreign: list[tuple[int, int]], root: tuple[int, int]) -> None:
        if root != (950_000, 1_000_000):
            _write(kernel, '', root)
        for number, values in enumerate(foreign):
            kernel.mkdir(f'/foreign{number}')
            try:
                _write(kernel, f'/foreign{number}', values)
            except OSError:
                continue  # the kernel had no room for it
        interface = self.interface_on(kernel)
        top = '/' + layout.split('/')[1]
        room = interface.capacity(top).ppm
        held: dict[int, int] = {}
        for guest, values in plan:
            group = layout.format(guest)
            base.mkdirs(kernel, group)
            if values is None:
                interface.release([group])
                held.pop(guest, None)
            else:
                ppm = reservation.Reservation(*values).bandwidth
                if sum((held | {guest: ppm}).values()) > room:
                    continue
                interface.reserve({group: base.budget(*values)})
                held[guest] = ppm
                self.assertEqual(values, kernel.snapshot()[group])
            self.assert_tight(kernel, top)
            self.assertEqual(room, interface.capacity(top).ppm)

    def test_the_promise_is_not_small(self) -> None:
        """The kernel of a plain host refuses one ppm more than promised."""
        base.mkdirs(self.kernel, base.LEAF)
        room = self.interface.capacity('/machine').ppm
        self.interface.reserve({base.LEAF: base.budget(room, 1_000_000)})
        with self.assertRaisesRegex(Exception, 'no room'):
            self.interface.reserve(
                {base.LEAF: base.budget(room + 1, 1_000_000)})


def _write(kernel: emulation.Kernel, group: str, values: tuple[int, int]
           ) -> None:
    """Runtime first down to nothing, so that any values can follow."""
    path = f'{emulation.CPU_MOUNT}{group}/'
    steps = [(emulation.RUNTIME, values[0]), (emulation.PERIOD, values[1])]
    if not group:
        steps.insert(0, (emulation.RUNTIME, 1))
        steps[1:] = steps[:0:-1]
    else:
        steps.reverse()
    for name, value in steps:
        kernel.write(path + name, str(value))
