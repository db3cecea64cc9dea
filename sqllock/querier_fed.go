package sqllock

import "context"

// fed is rows that another goroutine takes from the server, one when it is wanted.
type fed struct {
	rows

	ctx  context.Context
	want chan struct{}
	got  chan bool // whether there is one
	over chan struct{}
	done chan error // how the statement ended

	// ended is that, or ctx's error: what was not waited for is no answer, whatever it may say later.
	ended bool
	err   error
}

func newFed(ctx context.Context) *fed {
	return &fed{ctx: ctx, want: make(chan struct{}), got: make(chan bool, 1), over: make(chan struct{}), done: make(chan error, 1)}
}

// feed is for the other goroutine.
func (f *fed) feed(r rows) error {
	f.rows = r
	for {
		select {
		case <-f.want:
		case <-f.over:
			return nil
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
		more := r.Next()
		f.got <- more
		if !more {
			return nil
		}
	}
}

func (f *fed) Next() bool {
	select {
	case f.want <- struct{}{}:
	case err := <-f.done:
		return f.end(err)
	case <-f.ctx.Done():
		return f.end(f.ctx.Err())
	}
	select {
	case more := <-f.got:
		return more
	case <-f.ctx.Done():
		return f.end(f.ctx.Err())
	}
}

func (f *fed) end(err error) (more bool) {
	f.ended, f.err = true, err
	return false
}

// finish says that no more rows are wanted, and how the statement ended, or that ctx did before.
func (f *fed) finish() error {
	close(f.over)
	if f.ended {
		return f.err
	}
	select {
	case err := <-f.done:
		return err
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
}
