package bounded

import "context"

// Rows is what *sql.Rows and pgx.Rows have in common.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
}

// fed implements Rows. Another goroutine fetches each row from the server when Next is called.
type fed struct {
	rows Rows

	ctx  context.Context
	want chan struct{}
	got  chan bool // true if Next has fetched a row, false after the last row
	over chan struct{}
	done chan error // the result of run, sent when the statement has ended

	// The field noMore is set when the last row has been read. The field ended is set when the statement has ended, and
	// err is then the statement's error. If ctx ended first, err is ctx's error, whatever the statement returns later.
	noMore, ended bool
	err           error
}

func newFed(ctx context.Context) *fed {
	return &fed{ctx: ctx, want: make(chan struct{}), got: make(chan bool, 1), over: make(chan struct{}), done: make(chan error, 1)}
}

// feed runs in the goroutine that owns the rows, and fetches a row for each call of Next.
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

// Scan reads the present row. Call it only after Next has returned true. At that time the other goroutine waits, and
// does not use the rows.
func (f *fed) Scan(dest ...any) error { return f.rows.Scan(dest...) }

// Err returns the error of the rows. After the last row it first waits until the statement has ended.
func (f *fed) Err() error {
	if f.noMore {
		f.await()
	}
	return f.err
}

// finish tells feed to stop, waits until the statement or ctx has ended, and returns the error.
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
