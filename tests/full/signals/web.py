# SPDX-License-Identifier: Apache-2.0

"""Web servers: nginx, Apache, haproxy."""

from collections.abc import Iterator, Sequence
import contextlib
import os
import subprocess

from tests.full.signals import compare
from tests.full.signals import stage as signals_stage

GET = b'GET /file HTTP/1.1\r\nHost: x\r\n\r\n'
CLOSE = b'GET /file HTTP/1.0\r\nHost: x\r\n\r\n'
#: The time at which the files were written, in s.
_WRITTEN = 1_000_000_000

_NGINX = '''
daemon off; user root; worker_processes 1; pid {folder}/nginx.pid;
error_log {folder}/nginx.error;
events {{}}
http {{
    access_log {folder}/nginx.log; sendfile {sendfile};
    keepalive_requests 100000; tcp_nodelay on; root {folder}/www;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    server {{ listen 127.0.0.1:{port} {options};
        ssl_certificate {folder}/certificate;
        ssl_certificate_key {folder}/key; {more} }}
}}
'''
_APACHE = '''
ServerRoot {folder}
ServerName x
PidFile {folder}/apache.pid
Mutex pthread
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
Listen 127.0.0.1:{port}
MaxKeepAliveRequests 0
User nobody
Group nogroup
ErrorLog {folder}/apache.error
LogFormat "%r" plain
CustomLog {folder}/apache.log plain
DocumentRoot {folder}/www
<Directory {folder}/www>
    Require all granted
</Directory>
{more}
'''
_HAPROXY = '''
defaults
    mode {mode}
    timeout connect 5s
    timeout client 5s
    timeout server 5s
    {options}
frontend front
    bind 127.0.0.1:{port}
    default_backend back
backend back
    server one 127.0.0.1:{behind}
'''


def prepare(stage: signals_stage.Stage) -> None:
    """Writes the files that the servers answer with."""
    www = stage.folder / 'www'
    www.mkdir()
    for name, size in (('file', 4_000), ('large', 200_000)):
        path = www / name
        path.write_bytes(bytes(size))
        # Apache answers with a longer ETag while a file is new.
        os.utime(path, (_WRITTEN, _WRITTEN))
    subprocess.run([
        'openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
        'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=x', '-keyout',
        stage.folder / 'key', '-out', stage.folder / 'certificate'],
        check=True, capture_output=True)


@contextlib.contextmanager
def nginx(stage: signals_stage.Stage, options: str = '',
          sendfile: str = 'off', group: str = 'server', more: str = '',
          before: Sequence[str] = ()) -> Iterator[int]:
    """Runs nginx; yields its port.

    :param more: more lines of the configuration
    :param before: the command that starts nginx
    """
    port = signals_stage.free_port()
    path = stage.file(f'nginx-{group}.conf', _NGINX.format(
        folder=stage.folder, port=port, options=options, sendfile=sendfile,
        more=more))
    with stage.serving(port, *before, stage.packages.path('nginx'), '-c',
                       path, group=group):
        yield port


@contextlib.contextmanager
def apache(stage: signals_stage.Stage, more: str = '') -> Iterator[int]:
    """Runs Apache; yields its port."""
    port = signals_stage.free_port()
    module = stage.packages.path('mod_mpm_event.so')
    path = stage.file('apache.conf', _APACHE.format(
        folder=stage.folder, port=port, modules=module.rpartition('/')[0],
        more=more.format(modules=module.rpartition('/')[0])))
    with stage.serving(port, stage.packages.path('apache2'), '-f', path,
                       '-DFOREGROUND'):
        yield port


@contextlib.contextmanager
def haproxy(stage: signals_stage.Stage, behind: int, mode: str,
            options: str = '') -> Iterator[int]:
    """Runs haproxy in front of another port; yields its port."""
    port = signals_stage.free_port()
    path = stage.file('haproxy.conf', _HAPROXY.format(
        port=port, behind=behind, mode=mode, options=options))
    with stage.serving(port, stage.packages.path('haproxy'), '-db', '-f',
                       path):
        yield port


def of_nginx(stage: signals_stage.Stage, count: int
             ) -> Iterator[compare.Row]:
    """Yields a line for each kind of traffic."""
    yield from _in_clear_text(stage, count)
    yield from _encrypted(stage, count)


def _in_clear_text(stage: signals_stage.Stage, count: int
                   ) -> Iterator[compare.Row]:
    with nginx(stage) as port:
        size = stage.answer_to(port, GET)
        yield stage.watched('nginx', 'HTTP/1.1, keep-alive',
                            lambda: stage.generate(port, GET, size, count))
        yield stage.watched('nginx', 'HTTP/1.0, a connection each',
                            lambda: stage.each(port, [CLOSE], count // 4))
        yield stage.watched(
            'nginx', 'HTTP/1.0, clients that close their half',
            lambda: stage.each(port, [CLOSE], count // 4, half=True))
        yield stage.watched(
            'nginx', 'HTTP/1.1, four requests before the first answer',
            lambda: stage.each(port, [GET] * 3 + [CLOSE], count // 4))
    with nginx(stage, sendfile='on') as port:
        large = GET.replace(b'file', b'large')
        size = stage.answer_to(port, large)
        yield stage.watched(
            'nginx', '200 kB by sendfile', lambda: stage.generate(
                port, large, size, count // 4, 200))
    with nginx(stage, 'deferred') as port:
        size = stage.answer_to(port, GET)
        yield stage.watched('nginx', 'listen deferred, keep-alive',
                            lambda: stage.generate(port, GET, size, count))
        yield stage.watched('nginx', 'listen deferred, a connection each',
                            lambda: stage.each(port, [CLOSE], count // 4))


def _encrypted(stage: signals_stage.Stage, count: int
               ) -> Iterator[compare.Row]:
    """Yields the lines of TLS and of HTTP/2."""
    with nginx(stage, 'ssl') as port:
        yield stage.watched('nginx', 'TLS, a connection each',
                            lambda: _tls(stage, port, count // 20))
    with nginx(stage, 'http2') as port:
        yield stage.watched(
            'nginx', 'HTTP/2 in clear text, 32 requests at once',
            lambda: _multiplexed(stage, port, count, 'http'))
    with nginx(stage, 'ssl http2') as port:
        yield stage.watched(
            'nginx', 'HTTP/2 over TLS, 32 requests at once',
            lambda: _multiplexed(stage, port, count, 'https'))


def _multiplexed(stage: signals_stage.Stage, port: int, count: int,
                 scheme: str) -> compare.Truth:
    stage.run(stage.packages.path('h2load'), '-n', str(count), '-c', '2',
              '-m', '32', f'{scheme}://127.0.0.1:{port}/file')
    return compare.Truth(count)


def _tls(stage: signals_stage.Stage, port: int, count: int) -> compare.Truth:
    for _ in range(count):
        stage.run('curl', '-sk', '-o', '/dev/null',
                  f'https://127.0.0.1:{port}/file')
    return compare.Truth(count)


def of_apache(stage: signals_stage.Stage, count: int
              ) -> Iterator[compare.Row]:
    """Yields a line for each kind of traffic."""
    with apache(stage) as port:
        size = stage.answer_to(port, GET)
        yield stage.watched(
            'Apache', 'HTTP/1.1, keep-alive (deferred by default)',
            lambda: stage.generate(port, GET, size, count))
        yield stage.watched(
            'Apache', 'HTTP/1.0, a connection each (deferred by default)',
            lambda: stage.each(port, [CLOSE], count // 4))


def of_haproxy(stage: signals_stage.Stage, count: int
               ) -> Iterator[compare.Row]:
    """Yields a line for each mode."""
    with nginx(stage, group='middle') as behind:
        with haproxy(stage, behind, 'http') as port:
            size = stage.answer_to(port, GET)
            yield stage.watched(
                'haproxy', 'HTTP/1.1 in front of nginx',
                lambda: stage.generate(port, GET, size, count))
        with haproxy(stage, behind, 'tcp', 'option splice-request\n'
                     '    option splice-response') as port:
            large = GET.replace(b'file', b'large')
            size = stage.answer_to(port, large)
            yield stage.watched(
                'haproxy', '200 kB by splice, in front of nginx',
                lambda: stage.generate(port, large, size, count // 4, 200))
