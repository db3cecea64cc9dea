// Package bounded ends a call of a database driver when its context ends, even if the driver ignores contexts.
// An example is lib/pq: it opens connections without a context, and waits for an answer as long as the connection is
// open. If a call returns early, its work continues in a goroutine until the connection ends.
package bounded

import "context"

// Do runs the function work and returns its result. If ctx ends first, Do returns ctx's error. If work succeeds after
// that, Do calls the function late with the result.
func Do[T any](ctx context.Context, work func() (T, error), late func(T)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done, left := make(chan outcome), make(chan struct{})
	go func() {
		v, err := work()
		select {
		case done <- outcome{v, err}:
		case <-left:
			if err == nil {
				late(v)
			}
		}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		close(left)
		var none T
		return none, ctx.Err()
	}
}

// Run is Do for a function that returns only an error.
func Run(ctx context.Context, work func() error) error {
	_, err := Do(ctx, func() (struct{}, error) { return struct{}{}, work() }, func(struct{}) {})
	return err
}

// Query lets the caller read rows without waiting for a driver that ignores contexts. The parameter run executes the
// statement in another goroutine, and passes the rows to its parameter feed. The parameter read reads these rows in the
// caller's goroutine. Each call of Next in read fetches one row from the server. If ctx ends, Query returns although
// run may still be running. Query never returns before read has returned.
func Query(ctx context.Context, run func(feed func(Rows) error) error, read func(Rows) error) error {
	f := newFed(ctx)
	go func() { f.done <- run(f.feed) }()
	err := read(f)
	if end := f.finish(); err == nil {
		err = end
	}
	return err
}
