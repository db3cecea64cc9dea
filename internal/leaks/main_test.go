package leaks

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { Main(m) }

// A connection attempt that ends by itself is not reported as a leak, even if it takes seconds.
func TestMainWaitsForLingeringGoroutines(t *testing.T) {
	goOn := hang(t)
	require.ErrorContains(t, goleak.Find(), "DialContext", "goleak does not wait as long")
	time.AfterFunc(time.Second, goOn)
	await(time.Now().Add(time.Minute))
	require.NoError(t, goleak.Find())
}

// Main does not wait for goroutines that are not in the list lingering. For goroutines in the list it waits at most
// the time patience.
func TestALeakIsNotWaitedFor(t *testing.T) {
	release := make(chan struct{})
	go func() { <-release }()
	begun := time.Now()
	await(begun.Add(time.Minute))
	require.Less(t, time.Since(begun), 30*time.Second)
	require.Error(t, goleak.Find())
	close(release)

	hang(t)
	await(time.Now())
	require.Error(t, goleak.Find())
}

// hang starts a connection attempt that gets no reply until the function goOn is called or the test ends.
func hang(t *testing.T) (goOn func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	connecting := make(chan struct{})
	dialer := net.Dialer{Control: func(string, string, syscall.RawConn) error {
		close(connecting)
		<-ctx.Done()
		return ctx.Err()
	}}
	go func() { _, _ = dialer.DialContext(context.Background(), "tcp", listener.Addr().String()) }()
	<-connecting
	return cancel
}
