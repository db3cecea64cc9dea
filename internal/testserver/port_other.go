//go:build !linux

package testserver

import (
	"net"
	"os"
)

// reservePort finds a port that is free now: elsewhere a bound socket would keep our own server out as well.
func reservePort() (int, *os.File, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil, nil
}
