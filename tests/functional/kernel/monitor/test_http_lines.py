# SPDX-License-Identifier: Apache-2.0

"""Tests how the programs parse lines of any bytes, outside of the kernel."""

import ctypes
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import hypothesis
from hypothesis import strategies as st

from rt_monitor import http
from rt_monitor import paths
from tests.unit import base as unit

_FOLDER = pathlib.Path(paths.__file__).parent / 'programs'
_SOURCE = '''
typedef unsigned char u8;
typedef unsigned char bool;
typedef unsigned int u32;
typedef unsigned long long u64;
#define __always_inline inline __attribute__((always_inline))
static long bpf_loop(u32 count, void *each, void *context, u64 flags)
{
    for (u32 index = 0; index < count; index++)
        if (((long (*)(u32, void *))each)(index, context))
            return 1;
    return 0;
}
#include "protocols.h"
u32 request(const u8 *line, u8 *path)
{
    u32 length;
    u8 method = method_of(line, &length);

    if (method != NONE)
        template_of(line, length, path);
    return method;
}
u32 ended(const u8 *line, u32 filled) { return has_ended(line, filled); }
u32 status(const u8 *line) { return status_of(line); }
u32 speech(const u8 *head) { return speech_of(head); }
'''
_OTHER, _HTTP, _UNCLEAR = 1, 2, 3
_METHOD = re.compile(rb'(' + '|'.join(http.METHODS).encode() + rb') ')
LINES = st.one_of(
    st.binary(max_size=64),
    st.builds(lambda method, parts: f'{method} /'.encode() + b''.join(parts),
              st.sampled_from(http.METHODS), st.lists(st.one_of(
                  st.binary(max_size=9), st.sampled_from([
                      b'/', b'1', b'42', b'?', b' HTTP/1.1\r\n', b'#', b'%2F',
                      b'\0', b'a1b2c3d4e5f6' * 5])))))


def expected(line):
    """Returns method and template, by other means than the programs."""
    match = _METHOD.match(line[:64])
    if not match:
        return 0, b''
    target = re.split(rb'[ ?#\r\n\0]', line[match.end():64], maxsplit=1)[0]
    path = re.sub(rb'[0-9]+', b':n', target)[:64]
    return (http.METHODS.index(match[1].decode()) + 1,
            path if path.startswith(b'/') else b'')


class LinesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        if shutil.which('clang') is None:
            cls.skipTest(cls, 'clang is not installed')
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, 'lines.c')
            source.write_text(_SOURCE)
            subprocess.run(
                ['clang', '-O1', '-g', '-fsanitize=undefined',
                 '-fsanitize-trap=undefined', '-fno-sanitize=alignment',
                 '-shared', '-fPIC', f'-I{_FOLDER}', '-o',
                 f'{folder}/lines.so', source], check=True)
            cls.lines = ctypes.CDLL(f'{folder}/lines.so')

    @unit.PROPERTY
    @hypothesis.given(LINES)
    @hypothesis.example(b'GET ' + b'/' * 60)
    @hypothesis.example(b'GET /' + b'a1' * 30)
    @hypothesis.example(b'OPTIONS *')
    def test_requests(self, line):
        path = ctypes.create_string_buffer(64 + 8)
        path[64:] = b'behind..'
        method = self.lines.request(line[:64].ljust(128, b'\0'), path)
        self.assertEqual((*expected(line), b'behind..'), (
            method, path[:64].rstrip(b'\0'), path[64:]))

    @unit.PROPERTY
    @hypothesis.given(LINES, st.integers(0, 64))
    def test_ends(self, line, filled):
        self.assertEqual(filled == 64 or b'\n' in line[:64],
                         bool(self.lines.ended(line[:64].ljust(128, b'\0'),
                                               filled)))

    @unit.PROPERTY
    @hypothesis.given(st.one_of(
        st.binary(min_size=12, max_size=12),
        st.from_regex(rb'\AHTTP/[12].[0-9][ -][0-9]{3}\Z').filter(
            lambda line: len(line) == 12)))
    @hypothesis.example(b'HTTP/1.1 200')
    def test_answers(self, line):
        match = re.fullmatch(rb'HTTP/1\.[0-9] ([1-5][0-9]{2})', line,
                             re.DOTALL)
        self.assertEqual(int(match[1]) if match else 0,
                         self.lines.status(line))

    def test_sip_is_not_read(self):
        """Requests of SIP have no answer or several, in both directions."""
        for line, speech in (
                (b'INVITE sip:a@x SIP/2.0', _UNCLEAR),
                (b'OPTIONS sip:a@x SIP/2.0', _UNCLEAR),
                (b'ACK sips:a@x SIP/2.0', _UNCLEAR),
                (b'SUBSCRIBE sip:a@x SIP/2.0', _UNCLEAR),
                (b'BYE tel:+1 SIP/2.0', _UNCLEAR),
                (b'SIP/2.0 180 Ringing', _UNCLEAR),
                (b'OPTIONS * HTTP/1.1', _HTTP),
                (b'GET sip: HTTP/1.1', _HTTP),
                (b'get sip\r\n', _OTHER)):
            self.assertEqual(speech,
                             self.lines.speech(line[:16].ljust(128, b'\0')),
                             line)
