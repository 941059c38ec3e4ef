# SPDX-License-Identifier: Apache-2.0

"""The forms of a graph: text, JSON, Graphviz and an HTML page."""

from collections.abc import Callable
import json
from typing import Any

from rt_monitor import graph as monitor_graph
from rt_monitor import page
from rt_monitor import transactions

#: How a rate is known, if not by a resource of the server alone.
_HOW = {'neighbours': 'Beside the present neighbours', 'worst': 'At worst'}
_MS_NS = 1e6


def _edges(graph: monitor_graph.Graph, percentile: float
           ) -> list[dict[str, Any]]:
    return [{'from': asks, 'to': answers, 'port': port, **{
        role.name.lower(): {
            'count': edge.took.count, 'received': edge.received,
            'sent': edge.sent, 'unclear': edge.unclear,
            'mean_ns': edge.took.mean_ns,
            'took_ns': edge.took.quantile_ns(percentile)}
        for role, edge in ends.items()}}
        for (asks, answers, port), ends in graph.edges.items()]


def as_json(graph: monitor_graph.Graph, percentile: float) -> str:
    """Returns the graph as JSON; times have their unit in their key.

    :param percentile: the quantile of the times at the edges, from 0 to 1
    """
    return json.dumps({
        'percentile': percentile,
        'arrival_rate_hz': graph.arrival_rate_hz,
        'saturation': {name: None if first is None else {
            'rate_hz': first[0], 'server': first[1]}
            for name, first in graph.saturation.items()},
        'unclear': dict(graph.unclear),
        'missed': graph.missed,
        'critical_path': monitor_graph.critical_path(graph, percentile),
        'servers': {uuid: {
            'name': vertex.name, 'cpus': vertex.centre.used_cpus,
            'utilization': vertex.centre.utilization,
            'of_reservation': vertex.centre.reserved_use,
            'demand_s': vertex.demand_s, 'own_s': vertex.own_s}
            for uuid, vertex in graph.vertices.items()},
        'edges': _edges(graph, percentile)}, indent=2)


def text(graph: monitor_graph.Graph, percentile: float) -> str:
    """Returns the graph as sentences, a line for each server and edge.

    :param percentile: the quantile of the times at the edges, from 0 to 1
    """
    names = {uuid: vertex.name for uuid, vertex in graph.vertices.items()}
    lines = [f'{names.get(uuid, uuid)}: {count} exchanges are unclear (TLS, '
             f'HTTP/2, requests that overtake each other); without them '
             f'there is no rate, no saturation and no critical path.'
             for uuid, count in graph.unclear.items()]
    if graph.missed:
        lines.append(f'The kernel did not give {graph.missed} events of '
                     f'connections to the monitor; without them there is no '
                     f'rate, no saturation and no critical path.')
    if graph.arrival_rate_hz is not None:
        lines.append(f'Requests from outside: '
                     f'{graph.arrival_rate_hz:.1f} a second.')
    for name, first in graph.saturation.items():
        if first:
            rate_hz, uuid = first
            how = _HOW.get(name, f'By {name}')
            lines.append(f'{how}, {names[uuid]} saturates first, at '
                         f'{rate_hz:.1f} requests a second.')
    path = monitor_graph.critical_path(graph, percentile)
    if path:
        lines.append('Critical path: ' + ' -> '.join(
            names.get(vertex, vertex) for vertex in path) + '.')
    for uuid, vertex in graph.vertices.items():
        reserved = vertex.centre.reserved_use
        own = '' if vertex.own_s is None else (
            f', {vertex.own_s * 1000:.3f} ms of CPU time for each request')
        lines.append(
            f'{names[uuid]}: uses {vertex.centre.utilization:.1%} of its cores'
            + ('' if reserved is None else f', {reserved:.1%} of its '
               f'reservation') + own)
    for (asks, answers, port), ends in graph.edges.items():
        edge = ends.get(transactions.Role.SERVER) or ends[
            transactions.Role.CLIENT]
        at = '' if port is None else f':{port}'
        traffic = (f'{edge.unclear} unclear exchanges' if edge.unclear else
                   f'{edge.took.count} requests, p{percentile * 100:g} '
                   f'{edge.took.quantile_ns(percentile) / _MS_NS:.3f} ms')
        lines.append(f'{names.get(asks, asks)} -> '
                     f'{names.get(answers, answers)}{at}: {traffic}')
    return '\n'.join(lines)


def dot(graph: monitor_graph.Graph, percentile: float) -> str:
    """Returns the graph for Graphviz, with the critical path in red.

    :param percentile: the quantile of the times at the edges, from 0 to 1
    """
    path = monitor_graph.critical_path(graph, percentile)
    critical = {*zip(path, path[1:], strict=False)}
    lines = ['digraph servers {']
    for uuid, vertex in graph.vertices.items():
        label = f'{vertex.name}\n{vertex.centre.tightest:.0%}'
        lines.append(f'  {_quoted(uuid)} [label={_quoted(label)}];')
    for one, two, took in graph.directed(percentile).edges(data='took'):
        colour = ', color=red' if (one, two) in critical else ''
        lines.append(f'  {_quoted(one)} -> {_quoted(two)} '
                     f'[label="{took / _MS_NS:.3f} ms"{colour}];')
    return '\n'.join([*lines, '}'])


def _quoted(text: str) -> str:
    return '"' + text.replace('\\', r'\\').replace('"', r'\"').replace(
        '\n', r'\n') + '"'


def as_html(graph: monitor_graph.Graph, percentile: float) -> str:
    """Returns an HTML page with a picture below the sentences of the text.

    :param percentile: the quantile of the times at the edges, from 0 to 1
    """
    return page.page(graph, percentile, text(graph, percentile))


#: The functions that draw a graph, by the name of the form.
FORMATS: dict[str, Callable[[monitor_graph.Graph, float], str]] = {
    'text': text, 'json': as_json, 'dot': dot, 'html': as_html}
