package memlock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
)

// Op is a kind of request.
type Op string

// Each Op is named after the method of [Backend] that sends the request.
const (
	OpAcquire  Op = "acquire"
	OpRenew    Op = "renew"
	OpRelease  Op = "release"
	OpHandOver Op = "hand over"
	OpPause    Op = "pause"
)

// Call is one request that was sent.
type Call struct {
	Op Op
	N  int // the number of earlier requests with the same Op
}

// Fault describes what goes wrong with one request. The zero value means that nothing goes wrong.
type Fault struct {
	Request     time.Duration // how long the request takes to arrive
	Reply       time.Duration // how long the reply takes to arrive
	LoseRequest bool          // the store never receives the request, and the caller waits until its ctx ends
	LoseReply   bool          // the store applies the request, and the caller waits for a reply until its ctx ends
	Fail        error         // the store returns this error and does not apply the request
	Late        bool          // if ctx ends during the delay Request, the store still applies the request after that delay
}

// ErrCutOff is the error of a request whose caller got no reply before its ctx ended. It is joined with the error of
// that ctx.
var ErrCutOff = errors.New("memlock: cut off")

// Intercept makes the store call f for each later request, and applies the fault that f returns. If f is nil,
// later requests have no faults.
func (b *Backend) Intercept(f func(Call) Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.intercept = f
}

// LoseReply makes the store apply the next request of the kind op and lose its reply. It replaces the function of
// Intercept.
func (b *Backend) LoseReply(op Op) {
	done := false
	b.Intercept(func(c Call) Fault {
		if done || c.Op != op {
			return Fault{}
		}
		done = true
		return Fault{LoseReply: true}
	})
}

// Calls returns the number of requests of the kind op that were sent so far.
func (b *Backend) Calls(op Op) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[op]
}

// fault counts a request of the kind op and returns the fault that Intercept chose for it.
func (b *Backend) fault(op Op) Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := Call{Op: op, N: b.calls[op]}
	b.calls[op]++
	if b.intercept == nil {
		return Fault{}
	}
	return b.intercept(c)
}

// call runs the function apply with b.mu held, and simulates the fault of the request before and after that.
func call[T any](ctx context.Context, b *Backend, op Op, apply func() (T, error)) (T, error) {
	var zero T
	f := b.fault(op)
	locked := func() (T, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return apply()
	}
	sent := time.Now()
	switch {
	case f.Fail != nil:
		return zero, f.Fail
	case f.LoseRequest:
		return zero, cutOff(ctx)
	case !pause(ctx, f.Request):
		if f.Late {
			time.AfterFunc(f.Request-time.Since(sent), func() { _, _ = locked() })
		}
		return zero, cutOff(ctx)
	}
	reply, err := locked()
	if f.LoseReply || !pause(ctx, f.Reply) {
		return zero, cutOff(ctx)
	}
	return reply, err
}

// pause waits for d. It returns false if ctx ends before that. If d is zero, it returns false only if ctx has already
// ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// cutOff waits until ctx ends, as for a reply that never comes, and returns [ErrCutOff].
func cutOff(ctx context.Context) error {
	<-ctx.Done()
	return oneline.Join(ErrCutOff, ctx.Err())
}
