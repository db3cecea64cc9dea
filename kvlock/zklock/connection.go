package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// event is called by the client, and does not block.
func (s *session) event(e zk.Event) {
	switch {
	case e.Type != zk.EventSession:
		s.tell(e) // whatever happened to a node is a reason to look
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

// rise lets requests be made. The caller holds mu.
func (s *session) rise() {
	if s.connected && s.authorized {
		close(s.up)
	}
}

// negotiated is told what a server granted.
func (s *session) negotiated(timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timeout = timeout
}

// await returns once requests can be made. Its error means that none was.
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

// over is why the session has ended: a request that was not made on it was not carried out.
func (s *session) over() error { return ofRead(context.Cause(s.ctx)) }

// patience is for how long a server that is asked may say nothing.
func (s *session) patience() time.Duration {
	return min(max(s.asked/8, 250*time.Millisecond), 2*time.Second)
}

// greeting is how long a server may take to accept a connection, and to greet. It is longer when all have been tried in vain:
// they may be slow, and not away.
func (s *session) greeting() time.Duration {
	const most = 5 * time.Second
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(max(s.patience(), 500*time.Millisecond)<<min(s.failures/len(s.store.servers), 2), most)
}

// hangUp ends the present connection; the client makes another.
func (s *session) hangUp() {
	s.mu.Lock()
	w := s.wire
	s.mu.Unlock()
	if w != nil {
		_ = w.Close()
	}
}

// watchdog hangs up on a server that says nothing for a while now that it is asked; the client would
// wait for two thirds of the timeout. It is told when the answer is there.
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

// quiet waits until nothing is asked, but not for longer than limit.
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

// heed ends the session if the servers know it no more. They need not say so by ending the connection.
func (s *session) heed(err error) {
	if errors.Is(err, zk.ErrSessionExpired) {
		s.finish(errExpired)
	}
}
