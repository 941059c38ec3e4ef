// SPDX-License-Identifier: Apache-2.0

// "http PORT": a web server; "proxy PORT BEHIND": copies connections.
package main

import (
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	at := "127.0.0.1:" + os.Args[2]
	if os.Args[1] == "http" {
		body := make([]byte, 4000)
		http.ListenAndServe(at, http.HandlerFunc(
			func(to http.ResponseWriter, _ *http.Request) {
				to.Write(body)
			}))
	}
	listener, _ := net.Listen("tcp", at)
	for {
		front, _ := listener.Accept()
		back, err := net.Dial("tcp", "127.0.0.1:"+os.Args[3])
		if err != nil {
			os.Exit(1)
		}
		move := func(to, from net.Conn) {
			io.Copy(to, from)
			to.(*net.TCPConn).CloseWrite()
		}
		go move(back, front)
		go move(front, back)
	}
}
