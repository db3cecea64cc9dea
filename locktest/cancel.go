package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

var cancelCases = []testCase{
	{
		name:    "ended-context",
		promise: "A call whose context has ended returns an error at once, and the error is neither held nor lost. If such a call had an effect, a release with its nonce undoes the effect.",
		run:     endedContext,
	},
	{
		name:    "context-ends-a-call",
		promise: "A call without a reply from the store returns soon after its context ends, with an error that is neither held nor lost.",
		needs:   []power{partitioning},
		run:     contextEndsACall,
	},
}

// unanswered makes each kind of call with ctx, which ends before a reply can come. It checks that each call returns
// soon after the end of ctx, with an error that reports neither a holder nor a loss.
func (t *trial) unanswered(ctx context.Context, b driver.Backend, g driver.Grant, free driver.Request) {
	end := time.Now()
	if deadline, ok := ctx.Deadline(); ok && deadline.After(end) {
		end = deadline
	}
	check := func(op string, err error) {
		var held *driver.Held
		switch {
		case err == nil:
			t.fatalf("%s succeeded although its context has ended", op)
		case errors.As(err, &held) || errors.Is(err, driver.ErrNotHeld):
			t.fatalf("%s returned %q although its context has ended", op, err)
		case time.Since(end) > slack:
			t.fatalf("%s returned only %s after its context had ended", op, time.Since(end))
		}
	}
	_, err := b.Acquire(ctx, free)
	check("acquire of a free name", err)
	busy := t.request(g.Key)
	_, err = b.Acquire(ctx, busy)
	check("acquire of a held name", err)
	_, err = b.Renew(ctx, []driver.Grant{g})
	check("renewal", err)
	check("release", b.Release(ctx, g))
}

func endedContext(t *trial) {
	a, b := t.open(), t.open()
	g := t.grant(a, t.request(t.key("held")))
	free := t.request(t.key("free"))
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	t.unanswered(ctx, a, g, free)
	t.takeBack(a, free)
	t.grant(b, t.request(free.Key))
}

// takeBack releases the grant that the store may have made for the nonce of r.
func (t *trial) takeBack(b driver.Backend, r driver.Request) {
	err := b.Release(t.ctx, driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL})
	if err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("release by nonce: %v", err)
	}
}

func contextEndsACall(t *trial) {
	p := t.harness.(Partitioner)
	a := t.open()
	g := t.grant(a, t.request(t.key("held")))
	if err := p.Cut(a); err != nil {
		t.fatalf("cut a client off: %v", err)
	}
	ctx, cancel := t.withTimeout(200 * time.Millisecond)
	defer cancel()
	t.unanswered(ctx, a, g, t.request(t.key("free")))
	if err := p.Restore(a); err != nil {
		t.fatalf("restore a client's network: %v", err)
	}
	t.poll("a client works again after its network was restored", func() bool {
		ctx, cancel := t.withTimeout(attempt)
		defer cancel()
		_, err := a.Renew(ctx, []driver.Grant{g})
		return err == nil
	})
}
