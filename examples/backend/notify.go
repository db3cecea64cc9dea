//go:build unix && !aix && !solaris

package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// patience is how long a release waits for a subscriber whose socket is full. The release then skips this subscriber,
// which already has notifications to read.
const patience = 10 * time.Millisecond

// Notify implements [driver.Notifier]. A subscriber is a socket in the folder of the key.
func (s *Store) Notify(_ context.Context, key driver.Key, wake func()) (stop func(), err error) {
	folder, err := s.enter(key)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "wake."+driver.NewNonce().String()[:8])
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	var listener sync.WaitGroup
	listener.Go(func() {
		for _, err := socket.Read(make([]byte, 1)); err == nil; _, err = socket.Read(make([]byte, 1)) {
			wake()
		}
	})
	return func() {
		_ = errors.Join(socket.Close(), os.Remove(path))
		listener.Wait()
	}, nil
}

// wake notifies the subscribers of key in all processes. A subscriber that cannot be reached notices the release when
// it polls.
func (s *Store) wake(key driver.Key) {
	folder, err := s.enter(key)
	if err != nil {
		return
	}
	files, _ := os.ReadDir(folder)
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), "wake.") {
			continue
		}
		path := filepath.Join(folder, file.Name())
		socket, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path) // the process of this subscriber has died
		}
		if err != nil {
			continue
		}
		_ = socket.SetWriteDeadline(time.Now().Add(patience))
		_, _ = socket.Write([]byte{1})
		_ = socket.Close()
	}
}
