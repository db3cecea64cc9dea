package faultproxy_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// patience is how long a test waits for an event that must happen. silence is how long a test waits in order to check
// that an event does not happen.
const (
	patience = 5 * time.Second
	silence  = 50 * time.Millisecond
)

// server is an echo server. It reports each request to the test. It reports "EOF" when a client closes.
type server struct {
	listener net.Listener
	got      chan string
	running  sync.WaitGroup
}

func newServer(t *testing.T) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{listener: l, got: make(chan string, 100)}
	s.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); s.running.Wait() })
	return s
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	buffer := make([]byte, 1024)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			s.report("EOF")
			return
		}
		s.report(string(buffer[:n]))
		_, _ = conn.Write(buffer[:n])
	}
}

func (s *server) report(what string) {
	select {
	case s.got <- what:
	default: // no test is waiting for the report
	}
}

func (s *server) expect(t *testing.T, what string) {
	t.Helper()
	select {
	case got := <-s.got:
		require.Equal(t, what, got)
	case <-time.After(patience):
		require.FailNow(t, "the server got nothing", "instead of %q", what)
	}
}

func (s *server) expectNothing(t *testing.T) {
	t.Helper()
	select {
	case got := <-s.got:
		require.FailNow(t, "the server got something", "%q", got)
	case <-time.After(silence):
	}
}

func newProxy(t *testing.T) (*faultproxy.Proxy, *server) {
	s := newServer(t)
	p, err := faultproxy.New(s.listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(p.Close) // the proxy is closed before the server's cleanup, which waits until the proxy's connections are closed
	return p, s
}

func dial(t *testing.T, p *faultproxy.Proxy) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Addr(), patience)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := conn.Write([]byte(text))
	require.NoError(t, err)
}

func receive(t *testing.T, conn net.Conn, within time.Duration) (string, error) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(within)))
	buffer := make([]byte, 1024)
	n, err := conn.Read(buffer)
	return string(buffer[:n]), err
}

// roundTrip sends a request and expects its echo.
func roundTrip(t *testing.T, conn net.Conn, s *server, text string) {
	t.Helper()
	send(t, conn, text)
	s.expect(t, text)
	got, err := receive(t, conn, patience)
	require.NoError(t, err)
	require.Equal(t, text, got)
}

func requireSilent(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := receive(t, conn, silence)
	var timeout net.Error
	require.True(t, errors.As(err, &timeout) && timeout.Timeout(), "want silence, got %v", err)
}

func requireReset(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := receive(t, conn, patience)
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestForwards(t *testing.T) {
	p, s := newProxy(t)
	conn := dial(t, p)
	roundTrip(t, conn, s, "one")
	roundTrip(t, conn, s, "two")

	conn.Close()
	s.expect(t, "EOF")
}

func TestHalfCloseLosesNothing(t *testing.T) {
	p, s := newProxy(t)
	conn := dial(t, p)
	send(t, conn, "last words")
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	s.expect(t, "last words")
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "last words", string(got))
}

func TestNoServerBehindTheProxy(t *testing.T) {
	p, s := newProxy(t)
	s.listener.Close()
	conn, err := net.DialTimeout("tcp", p.Addr(), patience)
	if err == nil { // the reset may arrive before the client knows that it is connected
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestCut(t *testing.T) {
	p, s := newProxy(t)
	talking, leaving, quiet := dial(t, p), dial(t, p), dial(t, p)
	for _, conn := range []net.Conn{talking, leaving, quiet} {
		roundTrip(t, conn, s, "hello")
	}

	p.Cut()
	send(t, talking, "lost")
	leaving.Close()
	late := dial(t, p)
	send(t, late, "lost too")
	s.expectNothing(t) // the server must not even learn that the client has closed
	requireSilent(t, talking)
	requireSilent(t, late)

	p.Restore()
	requireReset(t, talking)
	requireReset(t, late)
	s.expect(t, "EOF")
	s.expect(t, "EOF")
	roundTrip(t, quiet, s, "still here")
	roundTrip(t, dial(t, p), s, "new")
}

func TestCutAfter(t *testing.T) {
	p, s := newProxy(t)
	conn := dial(t, p)
	roundTrip(t, conn, s, "a")
	p.CutAfter(2)
	roundTrip(t, conn, s, "b")
	require.False(t, p.IsCut())
	send(t, conn, "c")
	s.expect(t, "c")
	requireSilent(t, conn)
	require.True(t, p.IsCut())
	p.Restore()
	p.CutAfter(0)
	require.True(t, p.IsCut())
}

func TestReset(t *testing.T) {
	p, s := newProxy(t)
	conn := dial(t, p)
	roundTrip(t, conn, s, "hello")
	p.Reset()
	requireReset(t, conn)
	s.expect(t, "EOF")
	roundTrip(t, dial(t, p), s, "new")
}

func TestDropRepliesAndHang(t *testing.T) {
	p, s := newProxy(t)
	one, other := dial(t, p), dial(t, p)
	roundTrip(t, one, s, "hello")
	roundTrip(t, other, s, "hello")

	p.DropReplies(1, faultproxy.Hang)
	send(t, one, "ambiguous")
	s.expect(t, "ambiguous")
	requireSilent(t, one)
	roundTrip(t, other, s, "only one was dropped")
	send(t, one, "reply is lost")
	s.expect(t, "reply is lost")
	requireSilent(t, one)

	one.Close()
	s.expect(t, "EOF")
}

func TestDropRepliesAndReset(t *testing.T) {
	p, s := newProxy(t)
	conn := dial(t, p)
	roundTrip(t, conn, s, "hello")

	p.DropReplies(1, faultproxy.Reset)
	send(t, conn, "ambiguous")
	s.expect(t, "ambiguous")
	requireReset(t, conn)
	s.expect(t, "EOF")
}

func TestDropReply(t *testing.T) {
	p, s := newProxy(t)
	conn := dial(t, p)
	p.DropReply(2, faultproxy.Reset)
	roundTrip(t, conn, s, "the first")
	require.Equal(t, 1, p.Drops())
	send(t, conn, "the second")
	s.expect(t, "the second")
	requireReset(t, conn)
	require.Zero(t, p.Drops())
	s.expect(t, "EOF")
	roundTrip(t, dial(t, p), s, "later")
}

func TestDelay(t *testing.T) {
	p, s := newProxy(t)
	conn := dial(t, p)
	roundTrip(t, conn, s, "hello")

	p.Delay(30 * time.Millisecond)
	begin := time.Now()
	roundTrip(t, conn, s, "slow")
	require.GreaterOrEqual(t, time.Since(begin), 60*time.Millisecond)

	p.Delay(time.Hour)
	send(t, conn, "never")
	s.expectNothing(t)
	p.Close() // the test's cleanup calls Close a second time
	requireReset(t, conn)
}

// Many goroutines can use all methods of a proxy at the same time. The test looks for races and for goroutines that do not end.
func TestAllAtOnce(t *testing.T) {
	p, _ := newProxy(t)
	var clients, controls sync.WaitGroup
	end := make(chan struct{})
	for range 8 {
		clients.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				conn, err := net.DialTimeout("tcp", p.Addr(), patience)
				if err != nil {
					continue
				}
				_ = conn.SetDeadline(time.Now().Add(5 * time.Millisecond))
				for range 5 {
					_, _ = conn.Write([]byte("x"))
					_, _ = conn.Read(make([]byte, 8))
				}
				conn.Close()
			}
		})
	}
	for _, control := range []func(){
		p.Cut, p.Restore, p.Reset,
		func() { p.DropReplies(3, faultproxy.Hang) },
		func() { p.DropReplies(3, faultproxy.Reset) },
		func() { p.Delay(time.Millisecond) },
		func() { p.Delay(0) },
	} {
		controls.Go(func() {
			for range 100 {
				control()
				time.Sleep(time.Millisecond)
			}
		})
	}
	controls.Wait()
	p.Close() // while the clients are working
	close(end)
	clients.Wait()
}

// After PointAt, new connections lead to the other server. Open connections still lead to the first server.
func TestPointAt(t *testing.T) {
	p, one := newProxy(t)
	other := newServer(t)
	before := dial(t, p)
	roundTrip(t, before, one, "a")
	p.PointAt(other.listener.Addr().String())
	after := dial(t, p)
	roundTrip(t, after, other, "b")
	roundTrip(t, before, one, "c")
	require.NoError(t, after.Close())
	p.Close() // the cleanups of both servers wait until the proxy's connections are closed
}
