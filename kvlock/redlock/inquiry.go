package redlock

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// inquiry is one round of requests, to all nodes in parallel.
type inquiry[T any] struct {
	replies chan reply[T]
	pending int // the number of replies that were not yielded yet
}

// reply is what the request to one node returned.
type reply[T any] struct {
	node  *node
	value T
	err   error
}

// inquire calls the function ask for each node, and runs the function that it returns in a goroutine. If ask returns
// nil, the node gets no request. The functions must end soon, because Close waits for them. The caller must be counted
// in r.crew.
func inquire[T any](r *Backend, ask func(*node) func() (T, error)) *inquiry[T] {
	q := &inquiry[T]{replies: make(chan reply[T], len(r.nodes))}
	for _, n := range r.nodes {
		do := ask(n)
		if do == nil {
			continue
		}
		q.pending++
		r.crew.Go(func() {
			value, err := do()
			q.replies <- reply[T]{n, value, err}
		})
	}
	return q
}

// within yields the replies as they arrive, until every node has replied, limit has passed or ctx has ended.
func (q *inquiry[T]) within(ctx context.Context, limit time.Duration) iter.Seq[reply[T]] {
	return func(yield func(reply[T]) bool) {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for q.pending > 0 {
			select {
			case one := <-q.replies:
				if q.pending--; !yield(one) {
					return
				}
			case <-timer.C:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// failures are the errors of nodes.
type failures []error

func (f *failures) add(n *node, err error) {
	*f = append(*f, fmt.Errorf("%s: %w", n.addr, err))
}

// tooFew returns an error that says how many nodes did something, and why the other nodes did not. The error is
// permanent if so many nodes failed permanently that a retry cannot succeed.
func (r *Backend) tooFew(done int, what string, f failures) error {
	permanent := count(f, driver.IsPermanent)
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	text := fmt.Sprintf("%d of %d nodes %s in time, and a majority is %d", done, len(r.nodes), what, r.quorum())
	if len(texts) > 0 {
		text += "; " + strings.Join(texts, "; ")
	}
	err := fmt.Errorf("%s", text)
	if permanent > len(r.nodes)-r.quorum() {
		return driver.Permanent(err)
	}
	return err
}

// count returns the number of elements of list for which the function kind returns true.
func count[T any](list []T, kind func(T) bool) int {
	n := 0
	for _, v := range list {
		if kind(v) {
			n++
		}
	}
	return n
}

// bound detaches a request from the caller's cancellation, because its outcome decides who holds the lock. The request
// ends after limit, or at the caller's deadline if that is earlier.
func bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}
