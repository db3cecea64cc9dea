package sqllock

// Listens reports whether b has a connection that listens, or is about to, and whether it keeps a row of a waiter.
func (b *Backend) Listens() (listens, rows bool) {
	s := &b.dialect.(*postgres).waiters //nolint:forcetypeassert // of tests for Postgres
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running || s.parked != nil, len(s.topics)+len(s.leavers) > 0
}
