// Package bounded ends a call of a driver with its context, whether or not the driver does. lib/pq opens a connection without one, and
// waits for an answer for as long as the connection stands. What a call has left behind ends with the connection.
package bounded

import "context"

// Do returns what work returns, or ctx's error if that ends first: then what work returns is given to late, unless it has failed.
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

// Run is Do of what returns nothing else.
func Run(ctx context.Context, work func() error) error {
	_, err := Do(ctx, func() (struct{}, error) { return struct{}{}, work() }, func(struct{}) {})
	return err
}

// Query has read take the rows of a statement, which run hands to the function that it is given, in a goroutine of its own, one when it is
// wanted. read is over when Query returns, and has had no rows but those; run may not be.
func Query(ctx context.Context, run func(feed func(Rows) error) error, read func(Rows) error) error {
	f := newFed(ctx)
	go func() { f.done <- run(f.feed) }()
	err := read(f)
	if end := f.finish(); err == nil {
		err = end
	}
	return err
}
