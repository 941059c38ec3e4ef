# SPDX-License-Identifier: Apache-2.0

"""What is tested here: which line counts, as Linux 6.12 writes them."""

import itertools
import unittest

from nova_rt.host import admitted

_TEXT = '''\
cpu#0, 2100.000 MHz
  .dl_bw->total_bw               : 7

dl_rq[0]:
  .dl_nr_running                 : 0
  .dl_bw->bw                     : 996147
  .dl_bw->total_bw               : 52428

runnable tasks:
 S            task   PID       vruntime
dl_rq[1]:
  .dl_bw->bw                     : 996147
  .dl_bw->total_bw               : 104856
'''


class TotalTest(unittest.TestCase):

    def test_total(self) -> None:
        for cpu, wanted in ((0, 52_428), (1, 104_856)):
            self.assertEqual(wanted, admitted.total(
                _TEXT.splitlines(keepends=True), cpu))

    def test_nothing_is_read_in_vain(self) -> None:
        lines = iter(_TEXT.splitlines())
        admitted.total(lines, 0)
        self.assertEqual('', next(lines))

    def test_not_told(self) -> None:
        for lines in ((), itertools.islice(_TEXT.splitlines(), 5)):
            with self.assertRaisesRegex(ValueError, 'of CPU 0'):
                admitted.total(lines, 0)
