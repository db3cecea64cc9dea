package memlock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
)

// Op is a kind of request.
type Op string

// The kinds of requests.
const (
	OpAcquire  Op = "acquire"
	OpRenew    Op = "renew"
	OpRelease  Op = "release"
	OpHandOver Op = "hand over"
	OpPause    Op = "pause"
)

// Call is one request on its way.
type Call struct {
	Op Op
	N  int // how many of its kind came before it
}

// Fault is what happens to one request. The zero value is none.
type Fault struct {
	Request     time.Duration // the request takes so long to arrive
	Reply       time.Duration // the reply takes so long to come back
	LoseRequest bool          // the request never arrives; the caller waits until its ctx ends
	LoseReply   bool          // it is carried out, and the caller waits until its ctx ends
	Fail        error         // it is refused with this error instead
	Late        bool          // a request that is under way when the caller gives up arrives all the same
}

// ErrCutOff is what a caller gets whose request or reply was lost, joined with its ctx's error.
var ErrCutOff = errors.New("memlock: cut off")

// Intercept has f decide what happens to each request from now on; nil ends that.
func (b *Backend) Intercept(f func(Call) Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.intercept = f
}

// LoseReply lets the next request of the kind be carried out and its reply be lost.
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

// Calls is how many requests of the kind have come.
func (b *Backend) Calls(op Op) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[op]
}

// fault decides about one request.
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

// call carries apply out under the lock, with whatever befalls its request and its reply.
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

// pause waits for d, and says whether ctx outlived it. A ctx that has ended sends nothing.
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

// cutOff waits, as a caller does who hears nothing.
func cutOff(ctx context.Context) error {
	<-ctx.Done()
	return oneline.Join(ErrCutOff, ctx.Err())
}
