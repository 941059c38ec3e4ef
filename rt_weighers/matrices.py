# SPDX-License-Identifier: Apache-2.0

"""Reads the interference matrices that the options name."""

from collections.abc import Iterator
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from rt_models.interference import document
from rt_models.interference import forecast
from rt_models.interference import matrix


def model(conf: Any) -> forecast.Model:
    """Returns the model with the matrices that the options name.

    :raises InvalidMatrix: when a file cannot be used
    :raises InvalidConfiguration: when a file is for servers of the other
        kind
    """
    return forecast.Model(_matrices(conf))


def _matrices(conf: Any) -> Iterator[matrix.Matrix]:
    for option, path, kind in (
            ('interference_matrix', conf.nova_rt.interference_matrix
             or document.SHIPPED, neighbours.Kind.SHARED),
            ('interference_matrix_reserved',
             conf.nova_rt.interference_matrix_reserved,
             neighbours.Kind.RESERVED)):
        if path:
            loaded = document.load(path)
            if loaded.kind is not kind:
                raise exception.InvalidConfiguration(
                    option=option, value=path, rule=f'the file applies to '
                    f'{loaded.kind} servers, but this option is for {kind} '
                    f'servers')
            yield loaded
