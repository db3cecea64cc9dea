//go:build !linux

package testserver

import "net"

// FreePort returns a port of 127.0.0.1 that is free now. On systems other than Linux, a socket that reserves the port
// would also exclude the server itself.
func FreePort() (port int, release func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, func() {}, nil
}
