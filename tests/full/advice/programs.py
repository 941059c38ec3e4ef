# SPDX-License-Identifier: Apache-2.0

"""Servers of other languages; each listens on the port that it is given."""

import pathlib
import sys

_NODE = '''
const http = require('http'), crypto = require('crypto')
http.createServer((request, response) => {
  crypto.pbkdf2Sync('a', 'b', Number(process.argv[3]), 32, 'sha256')
  response.end('done')
}).listen(Number(process.argv[2]), '127.0.0.1')
'''
_GZIP = '''
const http = require('http'), zlib = require('zlib')
const page = Buffer.from(Array.from({length: Number(process.argv[3])},
  (_, i) => (i * 7919 % 1009).toString(36)).join(' '))
http.createServer((request, response) => {
  response.setHeader('Content-Encoding', 'gzip')
  response.end(zlib.gzipSync(page))
}).listen(Number(process.argv[2]), '127.0.0.1')
'''
#: The third argument is the part of long requests, of ten times the work.
_PYTHON = '''
import hashlib, http.server, random, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        long = random.random() < float(sys.argv[3])
        hashlib.pbkdf2_hmac('sha256', b'a', b'b',
                            int(sys.argv[2]) * (10 if long else 1))
        self.send_response(200)
        self.send_header('Content-Length', '4')
        self.end_headers()
        self.wfile.write(b'done')
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
Server(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
'''
_GO = '''package main
import ("crypto/sha256"; "net/http"; "os"; "strconv")
func main() {
  times, _ := strconv.Atoi(os.Args[2])
  http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
    sum := sha256.Sum256([]byte("a"))
    for i := 0; i < times; i++ { sum = sha256.Sum256(sum[:]) }
    w.Write(sum[:4])
  })
  http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
'''


def commands(folder: pathlib.Path, port: int) -> dict[str, list[str]]:
    """Returns how to start each server; writes what they need."""
    texts = {'node.js': _NODE, 'gzip.js': _GZIP, 'python.py': _PYTHON,
             'go.go': _GO}
    for name, text in texts.items():
        (folder / name).write_text(text)
    at = str(port)
    return {
        'node': ['node', str(folder / 'node.js'), at, '3000'],
        'node, gzip': ['node', str(folder / 'gzip.js'), at, '30000'],
        'python': [sys.executable, str(folder / 'python.py'), at, '6000',
                   '0'],
        'python, mixed': [sys.executable, str(folder / 'python.py'), at,
                          '2000', '0.1'],
        'Go': [str(folder / 'go'), at, '20000']}
