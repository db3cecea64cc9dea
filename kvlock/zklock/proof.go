package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/internal/backoff"
)

// prove records that a majority of the servers answered a request that was sent at the given time. This proves that the
// session existed then.
func (s *session) prove(sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sent.After(s.proven) {
		s.proven = sent
		s.plan()
	}
}

// keep adds change to the number of held entries. After a new grant, the expiry timer starts again, even if a long wait
// has passed since the last proof. The session then gets half a timeout for its next proof.
func (s *session) keep(change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted += change
	if change > 0 {
		s.kept = time.Now()
	}
	s.plan()
}

// plan sets the timer that ends the session if no request proves it for half its timeout. By then, no holder trusts a
// lease of the session any more, and the backend must not use the session again. The caller holds mu.
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

// left returns for how long the session is kept without another proof. The caller holds mu.
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

// provenSince reports whether a majority of the servers has answered a request that was sent at the instant t or later.
func (s *session) provenSince(t time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.proven.Before(t)
}

// check asks a majority of the servers whether a node exists.
func (s *session) check(ctx context.Context, path string) error {
	sent := time.Now()
	_, err := ask(ctx, s, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(existence(path)) })
	if err == nil {
		s.prove(sent)
	}
	return err
}

// existence returns an operation that fails if a node does not exist.
func existence(path string) *zk.CheckVersionRequest {
	return &zk.CheckVersionRequest{Path: path, Version: -1}
}

// ask sends a request, and repeats it if the connection breaks. The request must be safe to repeat.
func ask[T any](ctx context.Context, s *session, request func(*zk.Conn) (T, error)) (T, error) {
	for {
		v, err := askOnce(ctx, s, request)
		if !errors.Is(err, zk.ErrConnectionClosed) || !backoff.Sleep(ctx, time.Millisecond) {
			return v, err
		}
	}
}

// askOnce sends one request. The client does not support contexts: when ctx ends, the request continues until it is
// answered or its connection ends.
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
		answered := s.watchdog() // continues after the caller has returned
		v, err := request(s.conn)
		answered()
		s.noteExpiry(err)
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
