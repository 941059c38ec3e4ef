# SPDX-License-Identifier: Apache-2.0

import unittest

from docutils import core

from paper import report


class TableTest(unittest.TestCase):

    def test_docutils_reads_it(self):
        text = report.table(('Name', 'A longer one'), [('x', 1), ('yy', 2)])
        document = core.publish_doctree(
            text, settings_overrides={'halt_level': 2})
        cells = [entry.astext() for entry in document.findall(
            lambda node: node.tagname == 'entry')]
        self.assertEqual(['Name', 'A longer one', 'x', '1', 'yy', '2'],
                         cells)
