# SPDX-License-Identifier: Apache-2.0

"""Reads the timers of the kernel from /proc/timer_list."""

import re

#: The file has the timers of all CPUs; only root may read it.
PATH = '/proc/timer_list'

# " #0: <0000000012345678>, dl_task_timer, S:01" and in the next line
# " # expires at 456-456 nsecs [in 333 to 333 nsecs]"
_REPLENISHMENT = re.compile(
    r', dl_task_timer, S:\w+\s*\n\s*# expires at ([0-9]+)-')


def replenishments(text: str) -> list[float]:
    """Returns when throttled deadline servers and tasks get new runtime.

    :param text: the content of the file
    :returns: a time for each timer, in seconds of CLOCK_MONOTONIC
    """
    return [int(match[1]) / 1e9 for match in _REPLENISHMENT.finditer(text)]
