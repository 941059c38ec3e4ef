# SPDX-License-Identifier: Apache-2.0

"""Pairs of reserved functions, and their prediction: ``run.sh interference``.

The functions come from etc/interference.  The command measures how the
functions disturb each other, and compares the result with the predictions from
the shipped file of an earlier campaign.  The same command continues where it
was stopped.
"""

import argparse
import os
import pathlib

from nova_rt.rules import reservation as rt_reservation
from paper.interference import table
from paper import resumable
from paper import room
from rt_models.colocation import campaign
from rt_models.colocation import profile as rt_profile
from rt_models.colocation import records as rt_records
from rt_models.colocation import summary
from rt_models.colocation import trial
from rt_models.interference import document

_PROJECT = pathlib.Path(__file__).parents[2]
#: Two such reservations leave room for others on the CPU.
RESERVATION = rt_reservation.Reservation(30_000, 100_000)
_WATCHED_S = 1


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    resumable.register(
        parser, 'interference/reserved.yaml', runs=5, about='the file of '
        'results; those of single runs are in FILE.csv: ')


def run(options: argparse.Namespace) -> str:
    """Measures what is missing; returns the table, or what is left to do."""
    end = resumable.begin(options)
    if options.seconds:
        room.require(RESERVATION, RESERVATION)
    cpu = max(os.sched_getaffinity(0))
    setting = trial.Setting((cpu, cpu), RESERVATION, _WATCHED_S)
    records = rt_records.Records(
        options.data.with_name(f'{options.data.name}.csv'), str(setting))
    profiles = sorted((rt_profile.load(str(path)) for path
                       in (_PROJECT / 'etc/interference').glob('*.yaml')),
                      key=lambda one: one.type)
    if not campaign.run(profiles, records, setting, options.runs,
                        end, print):
        return 'Not all pairs are measured yet; run the command again.'
    # The conditions in the file are those of the machine that measured.
    if options.seconds or not options.data.exists():
        summary.write(options.data, profiles, records, setting)
    return table.text(document.load(str(options.data)),
                      document.load(document.SHIPPED_RESERVED))
