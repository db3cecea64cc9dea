package sqllock

import "context"

// Listens reports whether b has a connection that listens, or is about to, and whether it keeps a row of a waiter.
func (b *Backend) Listens() (listens, rows bool) {
	s := &b.dialect.(*postgres).waiters //nolint:forcetypeassert // of tests for Postgres
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running || s.parked != nil, len(s.topics)+len(s.leavers) > 0
}

// AnswerThatWasNotWaitedFor is what is made of a statement that went well, whose row was wanted when ctx had ended.
func AnswerThatWasNotWaitedFor(ctx context.Context) (more bool, err error) {
	f := newFed(ctx)
	more = f.Next()
	f.done <- nil
	return more, f.finish()
}
