package testserver

import (
	"os"
	"syscall"
)

// reservePort binds a socket to a free port of 127.0.0.1 and never listens on it. While it is open the kernel gives the port to
// nobody who asks for any, neither to listen on nor to connect from, yet a server that asks for this one with SO_REUSEADDR, as all
// of ours do, gets it; and while no server listens, clients are refused. See bind_conflict in the kernel's
// net/ipv4/inet_connection_sock.c.
func reservePort() (port int, held *os.File, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	held = os.NewFile(uintptr(fd), "port")
	defer func() {
		if err != nil {
			held.Close()
		}
	}()
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, nil, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, nil, os.NewSyscallError("bind", err)
	}
	addr, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, nil, os.NewSyscallError("getsockname", err)
	}
	return addr.(*syscall.SockaddrInet4).Port, held, nil
}
