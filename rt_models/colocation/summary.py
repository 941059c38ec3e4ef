# SPDX-License-Identifier: Apache-2.0

"""Writes the results of a campaign as a file for rt_models.interference."""

from collections.abc import Sequence
import os
import pathlib
import statistics
from typing import Any

import yaml

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from rt_models.colocation import profile as rt_profile
from rt_models.colocation import records as rt_records
from rt_models.colocation import trial
from rt_models.interference import document

_DIGITS = 4


def write(path: pathlib.Path, profiles: Sequence[rt_profile.Profile],
          records: rt_records.Records, setting: trial.Setting) -> None:
    """Writes the whole file, or no file.

    :raises InvalidMatrix: when a matrix must not have one of the values
    :raises CannotMeasure: when the file cannot be written
    """
    data = _data(profiles, records, setting)
    scratch = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        scratch.write_text(yaml.safe_dump(
            data, sort_keys=False, default_flow_style=None, width=78))
        document.load(str(scratch))
        scratch.rename(path)
    except OSError as error:
        raise exception.CannotMeasure(
            what=path, reason=f'the file cannot be written ({error.strerror})'
        ) from error
    finally:
        scratch.unlink(missing_ok=True)


def _data(profiles: Sequence[rt_profile.Profile],
          records: rt_records.Records, setting: trial.Setting
          ) -> dict[str, Any]:
    types = [profile.type for profile in profiles]
    alone = {name: statistics.mean(records.rates(name, '')) for name in types}
    beside = {target: {competitor: records.rates(target, competitor)
                       for competitor in types} for target in types}
    reserved = setting.reservation is not None
    return {
        'format': document.FORMAT,
        'metric': document.METRICS[0 if reserved else 1],
        'applies_to': str(neighbours.Kind.RESERVED if reserved
                          else neighbours.Kind.SHARED),
        'types': {profile.type: profile.title for profile in profiles},
        'cells': {target: {
            competitor: round(statistics.mean(rates) / alone[target], _DIGITS)
            for competitor, rates in row.items()}
            for target, row in beside.items()},
        'measured': {target: {
            competitor: {'n': len(rates), 'cv': round(cv(rates), _DIGITS)}
            for competitor, rates in row.items()}
            for target, row in beside.items()},
        'conditions': _conditions(types, records, setting)}


def _conditions(types: Sequence[str], records: rt_records.Records,
                setting: trial.Setting) -> dict[str, str]:
    kernel = os.uname()
    loads = [record.load_average for record in records.all]
    minutes = sorted(record.started for record in records.all)
    return {
        'kernel': f'{kernel.sysname} {kernel.release} {kernel.machine}',
        'cpus': str(os.cpu_count()), 'setting': str(setting),
        'measured': f'{minutes[0]} to {minutes[-1]}',
        'load_average': f'{min(loads):g} to {max(loads):g}',
        'cv_alone': ', '.join(f'{name} {cv(records.rates(name, "")):.3f}'
                              for name in types)}


def cv(rates: Sequence[float]) -> float:
    """Returns the coefficient of variation; 0 for a single value."""
    if len(rates) < 2:
        return 0.0
    return statistics.stdev(rates) / statistics.mean(rates)
