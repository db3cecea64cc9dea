//go:build !linux

package testserver

import "net"

// FreePort returns a port of 127.0.0.1 that is free now; elsewhere than on Linux a socket that kept it would keep our own server out as
// well.
func FreePort() (port int, release func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, func() {}, nil
}
