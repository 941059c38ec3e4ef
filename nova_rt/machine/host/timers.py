# SPDX-License-Identifier: Apache-2.0

"""The timers of the kernel, as /proc/timer_list has them."""

import re

#: Of all CPUs; readable by root only.
PATH = '/proc/timer_list'

# " #0: <0000000012345678>, dl_task_timer, S:01" and in the next line
# " # expires at 456-456 nsecs [in 333 to 333 nsecs]"
_REPLENISHMENT = re.compile(
    r', dl_task_timer, S:\w+\s*\n\s*# expires at ([0-9]+)-')


def replenishments(text: str) -> list[float]:
    """When throttled deadline servers and tasks will get new runtime.

    :param text: of the file
    :returns: in seconds of CLOCK_MONOTONIC, one for each of them
    """
    return [int(match[1]) / 1e9 for match in _REPLENISHMENT.finditer(text)]
