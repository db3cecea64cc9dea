package locktest

import (
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// batchOf skips a case if the backend sends no batches.
func (t *trial) batchOf(b driver.Backend) driver.Batcher {
	batcher, ok := b.(driver.Batcher)
	if !ok {
		t.skipf("the backend does not implement driver.Batcher")
	}
	return batcher
}

// grantEach sends a batch whose requests must all be granted. A request that was not applied is then sent on its own, as
// the engine does.
func (t *trial) grantEach(b driver.Backend, requests []driver.Request) []driver.Grant {
	grants, errs := t.batchOf(b).AcquireEach(t.ctx, requests)
	if len(grants) != len(requests) || len(errs) != len(requests) {
		t.fatalf("%d grants and %d errors for %d requests", len(grants), len(errs), len(requests))
	}
	for i, err := range errs {
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			t.skipf("the store has no batches")
		case driver.IsNotApplied(err) && !driver.IsPermanent(err):
			grants[i] = t.grantAtLast(b, requests[i])
		case err != nil:
			t.fatalf("acquire %q, which is free, in a batch: %v", requests[i].Key, err)
		}
		t.checkGrant(b, requests[i], grants[i])
	}
	return grants
}

func batches(t *trial) {
	a, b := t.open(), t.open()
	t.isFree(a, t.key("first").Name) // a new store may need a repair, which no batch makes
	var requests []driver.Request
	for _, name := range []string{"a", "b", "c"} {
		requests = append(requests, t.request(t.key(name)))
	}
	grants := t.grantEach(a, requests)
	for i, again := range t.grantEach(a, requests) {
		if again.Token != grants[i].Token {
			t.fatalf("a batch was sent twice: granted token %d, and then token %d", grants[i].Token, again.Token)
		}
	}

	others := []driver.Request{t.request(requests[1].Key), t.request(t.key("d"))}
	foreign := make([]driver.Grant, len(grants))
	for i, g := range grants {
		g.Nonce = driver.NewNonce()
		foreign[i] = g
	}
	got, errs := t.batchOf(b).AcquireEach(t.ctx, others)
	if errs[0] == nil {
		t.fatalf("a batch acquires %q, which another client holds: granted token %d", others[0].Key, got[0].Token)
	}
	for i, err := range t.batchOf(b).ReleaseEach(t.ctx, foreign) {
		if err == nil {
			t.fatalf("a batch releases %q, which another client holds", foreign[i].Key)
		}
	}
	for _, g := range grants {
		t.isHeld(a, g)
	}
	if errs[1] == nil {
		t.isHeld(b, got[1])
		t.release(b, got[1])
	}

	for i, err := range t.batchOf(a).ReleaseEach(t.ctx, grants) {
		switch {
		case driver.IsNotApplied(err):
			t.release(a, grants[i])
		case err != nil:
			t.fatalf("release of %q in a batch: %v", grants[i].Key, err)
		}
	}
	for i, r := range requests {
		next := t.grantAtLast(b, t.request(r.Key))
		if ordered(b) {
			t.rises(grants[i].Token, next.Token)
		}
	}
}
