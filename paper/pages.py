# SPDX-License-Identifier: Apache-2.0

"""An extension of Sphinx that puts measured and published numbers into pages.

``:fact:`NAME``` becomes a number of :mod:`paper.facts`, and the directive
``facts-table`` becomes a table made from data.  A name that does not exist is
an error of the build.
"""

from collections.abc import Callable, Sequence
from typing import Any

from docutils import nodes
from docutils.parsers import rst
from docutils.parsers.rst import states
from docutils import statemachine

from paper import chain
from paper import facts
from paper.fig8 import table as fig8_table
from paper.interference import simulation
from paper.interference import table as interference
from paper import loop
from paper import model_errors
from paper.pinning import records as pinning_records
from paper.pinning import table as pinning
from paper import placing
from paper.probe import latency
from paper.probe import records as probe_records
from paper.probe import table as probe
from paper import report
from rt_models.interference import document

#: The tables, by name.
TABLES: dict[str, Callable[[], str]] = {
    'chain': lambda: chain.text(facts.rows(facts.CHAIN)),
    'fig8-ratios': lambda: fig8_table.ratios(facts.fig8_runs()),
    'fig8-times': lambda: fig8_table.times(facts.fig8_runs()),
    'fig8-sip-ratios': lambda: fig8_table.ratios(facts.sip_runs()),
    'fig8-sip-times': lambda: fig8_table.times(facts.sip_runs()),
    'gains': lambda: simulation.table(facts.SIMULATION.read_text()),
    'latency': lambda: latency.text(
        probe_records.Data(facts.DATA / 'probe.csv')),
    'loop': lambda: loop.table(facts.LOOP.read_text()),
    'model-errors': lambda: model_errors.table(facts.MODEL.read_text()),
    'pairs': lambda: interference.text(
        document.load(str(facts.DATA / 'reserved.yaml')),
        document.load(document.SHIPPED_RESERVED)),
    'pinning': lambda: pinning.text(
        pinning_records.Data(facts.DATA / 'pinning.csv')),
    'placing': lambda: report.table(placing.HEADER,
                                    placing.rows(facts.DATA)),
    'probe': lambda: probe.text(probe_records.Data(facts.DATA / 'probe.csv')),
}


def role(name: str, rawtext: str, text: str, lineno: int,
         inliner: states.Inliner, options: Any = None,
         content: Sequence[str] = ()) -> tuple[list[nodes.Node],
                                               list[nodes.system_message]]:
    """Returns the number of a name; see docutils on roles."""
    value = facts.all_facts().get(text)
    if value is None:
        said = inliner.reporter.error(
            f'There is no fact "{text}" in paper/facts.py.', line=lineno)
        return [inliner.problematic(rawtext, rawtext, said)], [said]
    return [nodes.inline(rawtext, value, classes=['fact'])], []


class FactsTable(rst.Directive):
    """A table of TABLES, by its name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Returns the parsed table."""
        make = TABLES.get(self.arguments[0])
        if make is None:
            raise self.error(f'{self.arguments[0]} is not a table: name one '
                             f'of {", ".join(TABLES)}.')
        lines = statemachine.StringList(make().splitlines(), 'facts')
        node = nodes.Element()
        self.state.nested_parse(lines, self.content_offset, node)
        return list(node.children)


def setup(app: Any) -> dict[str, bool]:
    """Registers the role and the directive with Sphinx."""
    app.add_role('fact', role)
    app.add_directive('facts-table', FactsTable)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
