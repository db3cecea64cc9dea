package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/internal/backoff"
)

// prove notes that a majority of the servers answered a request that was sent then, so that the
// session lives.
func (s *session) prove(sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sent.After(s.proven) {
		s.proven = sent
		s.plan()
	}
}

// keep counts the entries that are held. One that comes after a long wait, in which nothing proved the
// session, is proven next.
func (s *session) keep(more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted += more
	if more > 0 {
		s.kept = time.Now()
	}
	s.plan()
}

// plan has the session ended when nothing has proven it for half its timeout: whoever holds something
// on it trusts that no more, and it must not come back to life with it. The caller holds mu.
func (s *session) plan() {
	if s.granted == 0 || s.ctx.Err() != nil {
		return
	}
	left := s.left()
	if s.expiry == nil {
		s.expiry = time.AfterFunc(left, s.expire)
		return
	}
	s.expiry.Reset(left)
}

// left is for how long the session is kept without another proof. The caller holds mu.
func (s *session) left() time.Duration {
	last := s.proven
	if s.kept.After(last) {
		last = s.kept
	}
	return s.timeout/2 - time.Since(last)
}

func (s *session) expire() {
	s.mu.Lock()
	over := s.granted > 0 && s.left() <= 0
	s.mu.Unlock()
	if over {
		s.finish(errUnproven)
	}
}

// provenSince says whether a request was answered that was sent since then.
func (s *session) provenSince(then time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.proven.Before(then)
}

// check asks a majority of the servers whether a node is there.
func (s *session) check(ctx context.Context, path string) error {
	sent := time.Now()
	_, err := ask(ctx, s, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(existence(path)) })
	if err == nil {
		s.prove(sent)
	}
	return err
}

// existence is the operation that fails when a node is gone.
func existence(path string) *zk.CheckVersionRequest {
	return &zk.CheckVersionRequest{Path: path, Version: -1}
}

// ask makes a request when there is a connection, and again when that breaks: it must do no harm twice.
func ask[T any](ctx context.Context, s *session, request func(*zk.Conn) (T, error)) (T, error) {
	for {
		v, err := askOnce(ctx, s, request)
		if !errors.Is(err, zk.ErrConnectionClosed) || !backoff.Sleep(ctx, time.Millisecond) {
			return v, err
		}
	}
}

// askOnce makes one request. The client knows no context: when ctx ends the request goes on without us,
// until it is answered or its connection ends.
func askOnce[T any](ctx context.Context, s *session, request func(*zk.Conn) (T, error)) (T, error) {
	var none T
	if err := s.await(ctx); err != nil {
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		answered := s.watchdog() // also when nobody waits for the answer any more
		v, err := request(s.conn)
		answered()
		s.heed(err)
		answers <- answer{v, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-s.ctx.Done():
		return none, s.over()
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
