# SPDX-License-Identifier: Apache-2.0

"""The work: a video, messages, and pages of a web server.

These are three of the four kinds of work of paper 001, small enough for two
CPUs.
"""

from collections.abc import Mapping
import dataclasses

#: The loopback is that of a namespace of its own; nobody else sees the port.
#: Apache gets its own session, because Apache signals its whole session when
#: it ends.
_APACHE = '''\
ip link set lo up
setsid apache2 -d . -f "$PWD/apache.conf" -DFOREGROUND &
until [ -e apache.pid ]; do sleep 0.01; done
until ab -q -n 1 http://127.0.0.1:80/page > /dev/null 2>&1; do :; done
ab -q -n 400 -c 10 http://127.0.0.1:80/page > ab.txt
kill "$!"
wait
grep -q '^Complete requests: *400$' ab.txt && ! grep -q '^Non-2xx' ab.txt
'''
_MODULES = '/usr/lib/apache2/modules'
_CONFIGURATION = f'''\
LoadModule mpm_prefork_module {_MODULES}/mod_mpm_prefork.so
LoadModule authz_core_module {_MODULES}/mod_authz_core.so
LoadModule alias_module {_MODULES}/mod_alias.so
LoadModule cgi_module {_MODULES}/mod_cgi.so
Listen 127.0.0.1:80
ServerName localhost
User www-data
Group www-data
PidFile apache.pid
ErrorLog error.log
DefaultRuntimeDir .
Mutex posixsem
StartServers 10
ScriptAlias /page {{folder}}/page
'''
_PAGE = '''\
#!/bin/sh
echo 'Content-Type: text/plain'
echo
i=0
while [ $i -lt 500 ]; do i=$((i + 1)); done
echo $i
'''


@dataclasses.dataclass(frozen=True, slots=True)
class Workload:
    """One kind of work, which is done when its script ends.

    :ivar needs: the program that the work needs
    :ivar script: for sh(1), in a folder of its own
    :ivar files: texts by name; executable
    """

    needs: str
    script: str
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)


WORKLOADS = {
    'ffmpeg': Workload('ffmpeg', (
        'exec ffmpeg -v error -f lavfi -i testsrc2=size=640x360:duration=3 '
        '-c:v libx264 -threads 4 -f null -')),
    # 160 processes in four groups wait for each other, like the MPI tasks of
    # the paper.  There are so many messages that the start of the processes
    # is only a small part.
    'messaging': Workload('hackbench', 'exec hackbench -g 4 -l 2000'),
    'apache': Workload('ab', _APACHE, {'apache.conf': _CONFIGURATION,
                                       'page': _PAGE})}
