package testserver

import (
	"os"
	"sync"
	"syscall"
)

// FreePort returns a port of 127.0.0.1 that is reserved for a server until the function release is called. Start
// reserves the ports of its servers in the same way.
//
// FreePort binds a socket to the port and never listens on it. While the socket is open, the kernel gives this port to
// no process that requests any free port. A server gets the port if it binds exactly this port with SO_REUSEADDR, as
// all servers of this package do. While no server listens, the kernel refuses clients. See bind_conflict in the
// kernel's net/ipv4/inet_connection_sock.c.
func FreePort() (port int, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	release = sync.OnceFunc(func() { _ = syscall.Close(fd) }) // only once, because a second call could close another file with the same number
	if port, err = bindAny(fd); err != nil {
		release()
		return 0, nil, err
	}
	return port, release, nil
}

func bindAny(fd int) (port int, err error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	addr, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	return addr.(*syscall.SockaddrInet4).Port, nil
}
