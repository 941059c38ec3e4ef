# SPDX-License-Identifier: Apache-2.0

"""``nova-rt advise --apply``: keeps a target by changes of a reservation."""

import argparse
from collections.abc import Callable
import dataclasses
import importlib
import itertools
import json
import time

from nova_rt.rules import exception
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_operate import advice
from rt_operate import loop

Measure = Callable[[argparse.Namespace], tuple[str, advice.MeasuredLoad]]


def run(args: argparse.Namespace, target: rt_load.Target,
        kernel: rt_kernel.Kernel, measure: Measure) -> int:
    """Measures and changes, again and again; returns the exit status.

    There is one change at a time, and each change follows a new measurement.
    """
    controller: loop.Loop | None = None
    known = ''
    for _ in (range(args.times) if args.times else itertools.count()):
        uuid, measured = measure(args)
        if controller is None or uuid != known:  # A name may be used again.
            known = uuid
            # Nova is needed only here.
            auto = importlib.import_module('rt_operate.manage.auto')
            server = auto.Server('nova-rt', uuid, args.config_file)
            controller = loop.Loop(target, server.limits, kernel)
        decision = controller.step(dataclasses.replace(
            measured, reservation=server.reserved(measured.reservation)))
        _tell(args, uuid, decision, _change(server.change, decision))
    return 0


def _change(change: Callable[[int], None], decision: loop.Decision) -> str:
    """Makes a change; returns why it was not made, or ''."""
    if decision.runtime_us is None:
        return ''
    try:
        change(decision.runtime_us)
    except exception.RTError as error:
        return str(error)
    return ''


def _tell(args: argparse.Namespace, uuid: str, decision: loop.Decision,
          trouble: str) -> None:
    """Prints what was done and why, a line for each measurement."""
    if args.format == 'json':
        print(json.dumps({
            'server': uuid, 'runtime_us': decision.runtime_us,
            'reason': decision.reason, 'trouble': trouble}), flush=True)
        return
    now = time.strftime('%H:%M:%S')
    print(f'{now} {decision.reason}.' + (f'  {trouble}' if trouble else ''),
          flush=True)
