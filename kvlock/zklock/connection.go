package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// event handles an event of the client. It must not block.
func (s *session) event(e zk.Event) {
	switch {
	case e.Type != zk.EventSession:
		s.tell(e) // wakes the waiters that watch this node
	case e.State == zk.StateHasSession:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.connected, s.failures = true, 0
		s.connections++
		s.rise()
	case e.State == zk.StateDisconnected:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.connected && s.authorized {
			s.up = make(chan struct{})
		}
		s.connected = false
	case e.State == zk.StateExpired:
		s.finish(errExpired)
	}
}

// rise allows requests if the session is connected and authenticated. The caller holds mu.
func (s *session) rise() {
	if s.connected && s.authorized {
		close(s.up)
	}
}

// negotiated records the timeout that a server granted.
func (s *session) negotiated(timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timeout = timeout
}

// await waits until requests can be sent. Its errors are marked as not applied.
func (s *session) await(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return s.over()
	}
	s.mu.Lock()
	up := s.up
	s.mu.Unlock()
	select {
	case <-up:
		return nil
	case <-s.ctx.Done():
		return s.over()
	case <-ctx.Done():
		return s.unreachable(ctx)
	}
}

func (s *session) unreachable(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return driver.NotApplied(oneline.Join(errUnreachable, s.dialed, ctx.Err()))
}

// over returns the reason why the session has ended, marked as not applied. Use it only for requests that were not
// sent.
func (s *session) over() error { return ofRead(context.Cause(s.ctx)) }

// patience returns how long a server may take to answer a request.
func (s *session) patience() time.Duration {
	return min(max(s.asked/8, 250*time.Millisecond), 2*time.Second)
}

// handshakeLimit returns how long a server may take to accept a connection and to answer the handshake. The limit grows
// after all servers have failed, because they may be slow instead of down.
func (s *session) handshakeLimit() time.Duration {
	const most = 5 * time.Second
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(max(s.patience(), 500*time.Millisecond)<<min(s.failures/len(s.store.servers), 2), most)
}

// closeWire closes the current connection. The client then opens another one.
func (s *session) closeWire() {
	s.mu.Lock()
	w := s.wire
	s.mu.Unlock()
	if w != nil {
		_ = w.Close()
	}
}

// watchdog closes the connection if the server sends nothing within patience after a request. Without watchdog, the
// client would wait for two thirds of the session's timeout. Call the function answered when the reply has arrived.
func (s *session) watchdog() (answered func()) {
	asked := time.Now()
	s.mu.Lock()
	s.asking++
	s.mu.Unlock()
	timer := time.AfterFunc(s.patience(), func() {
		s.mu.Lock()
		w := s.wire
		s.mu.Unlock()
		if w != nil && w.opened.Before(asked) && w.silentSince(asked) {
			_ = w.Close()
		}
	})
	return func() {
		timer.Stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.asking--; s.asking == 0 && s.answered != nil {
			close(s.answered)
			s.answered = nil
		}
	}
}

// quiet waits until no request is running, but not for longer than limit. It returns false if a request is still
// running.
func (s *session) quiet(limit time.Duration) bool {
	s.mu.Lock()
	if s.asking == 0 {
		s.mu.Unlock()
		return true
	}
	if s.answered == nil {
		s.answered = make(chan struct{})
	}
	answered := s.answered
	s.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-answered:
		return true
	case <-timer.C:
		return false
	}
}

// noteExpiry ends the session if err says that the servers no longer know the session. Servers may return this error
// without closing the connection.
func (s *session) noteExpiry(err error) {
	if errors.Is(err, zk.ErrSessionExpired) {
		s.finish(errExpired)
	}
}
