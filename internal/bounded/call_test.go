package bounded

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// If ctx ends before the result arrives, Query returns the error of ctx. The result must not look like a query that
// found no rows.
func TestAContextThatEndsIsNoAnswer(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for range 100 {
		f := newFed(ended)
		require.False(t, f.Next())
		f.done <- nil
		require.ErrorIs(t, f.finish(), context.Canceled)
	}
}

// numbers implements Rows. Its rows count up from 1, and then it returns an error.
type numbers struct {
	last  int
	fail  error
	until int
}

func (n *numbers) Next() bool {
	n.last++
	return n.last <= n.until
}

func (n *numbers) Scan(dest ...any) error {
	*dest[0].(*int) = n.last
	return nil
}

func (n *numbers) Err() error { return n.fail }

// Query delivers rows one at a time until the last row, or until the reader stops.
// It returns the error of the statement.
func TestQuery(t *testing.T) {
	failed := errors.New("the statement failed")
	for _, c := range []struct {
		rows  numbers
		stop  int // read this number of rows, then stop
		want  int
		error error
	}{
		{rows: numbers{until: 3}, stop: 10, want: 3},
		{rows: numbers{until: 3}, stop: 2, want: 2},
		{rows: numbers{until: 0}, stop: 1, want: 0},
		{rows: numbers{until: 3, fail: failed}, stop: 10, want: 3, error: failed},
	} {
		got := 0
		err := Query(t.Context(), func(feed func(Rows) error) error {
			if err := feed(&c.rows); err != nil {
				return err
			}
			return c.rows.fail
		}, func(r Rows) error {
			for got < c.stop && r.Next() {
				if err := r.Scan(&got); err != nil {
					return err
				}
			}
			return r.Err()
		})
		require.Equal(t, c.want, got)
		require.ErrorIs(t, err, c.error)
	}
	own := errors.New("the reader's own")
	require.ErrorIs(t, Query(t.Context(), func(feed func(Rows) error) error { return feed(new(numbers)) },
		func(Rows) error { return own }), own)
}

// Do returns when its context ends. If work succeeds after that, Do calls late with the result.
func TestWhatComesLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent, late := make(chan struct{}), make(chan int, 1)
	cancel()
	_, err := Do(ctx, func() (int, error) { <-silent; return 7, nil }, func(n int) { late <- n })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, Run(ctx, func() error { <-silent; return nil }), context.Canceled)
	require.ErrorIs(t, Query(ctx, func(func(Rows) error) error { <-silent; return nil }, func(r Rows) error {
		require.False(t, r.Next())
		return r.Err()
	}), context.Canceled)
	close(silent)
	require.Equal(t, 7, <-late)
}
