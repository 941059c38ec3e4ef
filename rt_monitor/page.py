# SPDX-License-Identifier: Apache-2.0

"""Draws a graph as a self-contained HTML page with one picture, no script.

The vertices stand in columns: a client is to the left of its servers.
"""

from collections.abc import Iterator, Mapping
import html
import itertools

import networkx

from rt_monitor import graph as monitor_graph

_MS_NS = 1e6
#: Width and height of a box, and the gaps to the right and below, in pixels.
_WIDTH, _HEIGHT, _RIGHT, _BELOW = 224, 52, 110, 34
_LONGEST = 32
_PAGE = '''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/><title>Servers</title><style>
body {{ font: 14px sans-serif; margin: 2em }}
svg {{ font-size: 12px }}
rect {{ fill: #f4f4f4; stroke: #888 }}
.full {{ fill: #f6c9c0 }} .outside {{ fill: #fff; stroke-dasharray: 4 }}
path {{ fill: none; stroke: #888; marker-end: url(#end) }}
.critical {{ stroke: #c00; stroke-width: 2 }}
</style></head><body>
<h1>Servers</h1>
{sentences}
<svg width="{width}" height="{height}">
<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"
markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" style="fill: #888;
stroke: none; marker-end: none"/></marker></defs>
{shapes}
</svg></body></html>
'''
#: A server whose tightest U is above this value is highlighted.
_FULL = 0.8


def page(graph: monitor_graph.Graph, percentile: float,
         sentences: str) -> str:
    """Returns the page.

    :param percentile: the quantile of the times at the edges, from 0 to 1
    :param sentences: the text above the picture; each line is a paragraph
    """
    directed = graph.directed(percentile)
    places = _places(directed)
    right = max((x for x, _ in places.values()), default=0)
    low = max((y for _, y in places.values()), default=0)
    return _PAGE.format(
        sentences=''.join(f'<p>{html.escape(line)}</p>\n'
                          for line in sentences.splitlines()),
        width=right + _WIDTH + 2, height=low + _HEIGHT + 2,
        shapes='\n'.join([*_lines(graph, directed, percentile, places),
                          *_boxes(graph, places)]))


def _places(directed: networkx.DiGraph) -> dict[str, tuple[int, int]]:
    """Returns the upper left corner of each vertex.

    Vertices that ask each other in a circle share a column.
    """
    circles = networkx.condensation(directed)
    places = {}
    for column, generation in enumerate(
            networkx.topological_generations(circles)):
        names = sorted(itertools.chain.from_iterable(
            circles.nodes[one]['members'] for one in generation))
        for row, name in enumerate(names):
            places[name] = (1 + column * (_WIDTH + _RIGHT),
                            1 + row * (_HEIGHT + _BELOW))
    return places


def _boxes(graph: monitor_graph.Graph, places: Mapping[str, tuple[int, int]]
           ) -> Iterator[str]:
    for name, (x, y) in places.items():
        vertex = graph.vertices.get(name)
        kind, lines = 'outside', [name]
        if vertex:
            centre = vertex.centre
            kind = 'full' if centre.tightest > _FULL else 'server'
            lines = [vertex.name, f'{centre.utilization:.0%} of its cores'
                     + ('' if centre.reserved_use is None else
                        f', {centre.reserved_use:.0%} reserved')]
        yield (f'<rect class="{kind}" x="{x}" y="{y}" width="{_WIDTH}" '
               f'height="{_HEIGHT}" rx="4"><title>{html.escape(name)}'
               f'</title></rect>')
        for row, line in enumerate(lines):
            yield (f'<text x="{x + 8}" y="{y + 20 + 18 * row}">'
                   f'{html.escape(line[:_LONGEST])}</text>')


def _lines(graph: monitor_graph.Graph, directed: networkx.DiGraph,
           percentile: float, places: Mapping[str, tuple[int, int]]
           ) -> Iterator[str]:
    critical = {*itertools.pairwise(
        monitor_graph.critical_path(graph, percentile))}
    for one, two, took in directed.edges(data='took'):
        (x, y), (to_x, to_y) = places[one], places[two]
        x, y, to_y = x + _WIDTH, y + _HEIGHT // 2, to_y + _HEIGHT // 2
        kind = ' class="critical"' if (one, two) in critical else ''
        yield f'<path{kind} d="M{x} {y} {to_x} {to_y}"/>'
        yield (f'<text x="{(x + to_x) // 2 - 24}" y="{(y + to_y) // 2 - 5}">'
               f'{took / _MS_NS:.2f} ms</text>')
