package locktest

import (
	"errors"

	"github.com/rowlock/rowlock/driver"
)

var restartCases = []testCase{
	{
		name:    "restart-keeps-tokens",
		promise: "After a restart of the store, tokens are larger than those before it.",
		needs:   []power{restarting},
		alone:   true,
		run:     restartKeepsTokens,
	},
	{
		name:    "restart-keeps-leases",
		promise: "After a restart of the store, no request is granted while a lease from before the restart can be renewed.",
		needs:   []power{restarting},
		alone:   true,
		run:     restartKeepsLeases,
	},
}

func (t *trial) restart() {
	if err := t.harness.(Restarter).Restart(t.ctx); err != nil {
		t.fatalf("restart the store: %v", err)
	}
}

// askAgain sends the request until the store replies to it. The first requests after a restart may fail.
func (t *trial) askAgain(b driver.Backend, r driver.Request) (g driver.Grant, held *driver.Held) {
	t.poll("a reply after the restart", func() bool {
		var err error
		held = nil
		g, err = b.Acquire(t.ctx, r)
		if errors.As(err, &held) {
			return held.Reason != driver.Contended
		}
		return err == nil
	})
	return g, held
}

// A store that may have lost grants refuses every request for some time after a restart, with the reason
// driver.Quarantine. Such a store may not grant anything before this case ends. A crash may also undo a release, if the
// store does not flush releases. The lease then ends after its TTL.
func restartKeepsTokens(t *trial) {
	a := t.open()
	used, free := t.request(t.key("used")), t.request(t.key("free"))
	used.TTL = brief
	before := t.grant(a, used)
	t.release(a, before)
	t.restart()
	for _, r := range []driver.Request{used, free} {
		for _, b := range []driver.Backend{a, t.open()} {
			var g driver.Grant
			var held *driver.Held
			t.poll("a grant after the restart", func() bool {
				r.Nonce = driver.NewNonce()
				g, held = t.askAgain(b, r)
				return held == nil || held.Reason == driver.Quarantine
			})
			if held != nil {
				continue
			}
			if r.Key == used.Key && ordered(b) && g.Token <= before.Token {
				t.fatalf("token %d after the restart, and %d before it", g.Token, before.Token)
			}
			t.release(b, g)
		}
	}
}

// The locks of sessions end with the store. Then the holder must learn that its lease is lost.
func restartKeepsLeases(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	r.TTL = longest
	first := t.grant(a, r)
	t.restart()
	r.Nonce = driver.NewNonce()
	second, held := t.askAgain(b, r)
	var outcomes []driver.Outcome
	t.poll("an outcome of a renewal after the restart", func() bool {
		var err error
		outcomes, err = a.Renew(t.ctx, []driver.Grant{first})
		return err == nil && outcomes[0] != driver.Unknown
	})
	switch renewed := outcomes[0] == driver.Renewed; {
	case held == nil && renewed:
		t.fatalf("after the restart token %d was granted, and the lease with token %d was renewed", second.Token, first.Token)
	case held == nil && !sessions(a):
		t.fatalf("after the restart token %d was granted, although the lease with token %d had not ended", second.Token, first.Token)
	case held == nil:
		t.release(b, second)
	case renewed:
		t.release(a, first)
	}
}
