package memlock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
)

// Op is a kind of request.
type Op string

// These are the kinds of requests.
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
	N  int // the number of earlier requests of the same kind
}

// Fault describes what goes wrong with one request. The zero value means that nothing goes wrong.
type Fault struct {
	Request     time.Duration // how long the request takes to arrive
	Reply       time.Duration // how long the reply takes to arrive
	LoseRequest bool          // the request never arrives, and the caller waits until its ctx ends
	LoseReply   bool          // the request is applied, and the caller waits until its ctx ends
	Fail        error         // the store returns this error and does not apply the request
	Late        bool          // the request still arrives after its caller has given up
}

// ErrCutOff is the error if a request or its reply was lost. It is joined with the error of the caller's ctx.
var ErrCutOff = errors.New("memlock: cut off")

// Intercept calls f for each later request. The result of f is the fault of that request. If f is nil, later requests have no
// faults.
func (b *Backend) Intercept(f func(Call) Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.intercept = f
}

// LoseReply loses the reply to the next request of this kind. The request itself is applied.
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

// Calls returns the number of requests of this kind so far.
func (b *Backend) Calls(op Op) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[op]
}

// fault returns the fault of one request.
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

// call runs apply under the lock, with the fault of its request and its reply.
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

// pause waits for d. It returns false if ctx ended first. If ctx has already ended, the caller sends no request.
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

// cutOff waits until ctx ends, like a caller that gets no reply.
func cutOff(ctx context.Context) error {
	<-ctx.Done()
	return oneline.Join(ErrCutOff, ctx.Err())
}
