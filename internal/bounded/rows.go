package bounded

import "context"

// Rows is what *sql.Rows and pgx.Rows have in common.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
}

// fed is rows that another goroutine takes from the server, one when it is wanted.
type fed struct {
	rows Rows

	ctx  context.Context
	want chan struct{}
	got  chan bool // whether there is one
	over chan struct{}
	done chan error // how the statement ended

	// noMore is that the last row has been read, ended that it is known how the statement has ended: by err, which is ctx's error if that
	// came first. What was not waited for is no answer, whatever it may say later.
	noMore, ended bool
	err           error
}

func newFed(ctx context.Context) *fed {
	return &fed{ctx: ctx, want: make(chan struct{}), got: make(chan bool, 1), over: make(chan struct{}), done: make(chan error, 1)}
}

// feed is for the other goroutine.
func (f *fed) feed(r Rows) error {
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
	if f.noMore || f.ended {
		return false
	}
	select {
	case f.want <- struct{}{}:
	case err := <-f.done:
		return f.end(err)
	case <-f.ctx.Done():
		return f.end(f.ctx.Err())
	}
	select {
	case more := <-f.got:
		f.noMore = !more
		return more
	case <-f.ctx.Done():
		return f.end(f.ctx.Err())
	}
}

// Scan is for after a Next that was true, when the other goroutine leaves the rows alone.
func (f *fed) Scan(dest ...any) error { return f.rows.Scan(dest...) }

// Err waits until the statement has ended if the last row has been read.
func (f *fed) Err() error {
	if f.noMore {
		f.await()
	}
	return f.err
}

// finish says that no more rows are wanted, and how the statement ended.
func (f *fed) finish() error {
	close(f.over)
	f.await()
	return f.err
}

func (f *fed) await() {
	if f.ended {
		return
	}
	select {
	case err := <-f.done:
		f.end(err)
	case <-f.ctx.Done():
		f.end(f.ctx.Err())
	}
}

func (f *fed) end(err error) (more bool) {
	f.ended, f.err = true, err
	return false
}
