package locktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

var renewalCases = []testCase{
	{
		name:    "renewal-extends",
		promise: "A renewal extends a held grant to a full TTL from now.",
		run:     renewalExtends,
	},
	{
		name:    "renewal-shortens",
		promise: "A renewal with a TTL that is shorter than the remaining time of a lease shortens the lease. Maximum holds need this.",
		run:     renewalShortens,
	},
	{
		name:    "renewal-does-not-revive",
		promise: "A renewal never revives an expired grant, even if the name is still free.",
		run:     renewalDoesNotRevive,
	},
	{
		name:    "renewal-does-not-insert",
		promise: "A renewal never creates a grant.",
		run:     renewalDoesNotInsert,
	},
	{
		name:    "renewal-after-release",
		promise: "A renewal of a released grant returns lost, and the name stays free.",
		run:     renewalAfterRelease,
	},
	{
		name:    "renewal-by-position",
		promise: "The outcomes of a renewal are in the order of its grants, also if some are lost.",
		run:     renewalByPosition,
	},
	{
		name:    "renewal-of-many",
		promise: "One call renews a hundred grants.",
		run:     renewalOfMany,
	},
	{
		name:    "renewal-beside-release",
		promise: "If one grant of a renewal is released meanwhile, the others are still renewed.",
		run:     renewalBesideRelease,
	},
}

func renewalExtends(t *trial) {
	a, b := t.open(), t.open()
	g := t.grant(a, t.request(t.key("x")))
	if left := t.expiresIn(b, g.Key); left > steady {
		t.fatalf("the lease was granted for %s, but a refusal says that it ends in %s", steady, left)
	}
	g.TTL = 3 * steady // large enough that the elapsed time does not affect the comparison
	t.isHeld(a, g)
	if left := t.expiresIn(b, g.Key); left <= steady {
		t.fatalf("the lease was renewed for %s, but a refusal says that it ends in %s", g.TTL, left)
	}
}

func renewalShortens(t *trial) {
	a, b := t.open(), t.open()
	t.needTerm(a)
	r := t.request(t.key("x"))
	r.TTL = 3 * steady // the case does not wait for this TTL
	g := t.grant(a, r)
	g.TTL = lively
	sent := time.Now()
	t.isHeld(a, g)
	t.grantAtLast(b, t.request(g.Key))
	if took := time.Since(sent); took < tolerance(g.TTL) {
		t.fatalf("a lease that was renewed for %s ended %s later", g.TTL, took)
	}
	t.isLost(a, g, "a shortened lease that has ended")
}

func (t *trial) isLost(b driver.Backend, g driver.Grant, why string) {
	if got := t.renew(b, g); got != driver.Lost {
		t.fatalf("renewal of %s: want lost, got %s", why, got)
	}
}

func renewalDoesNotRevive(t *trial) {
	a, b := t.open(), t.open()
	g := t.expired(a, t.request(t.key("x")))
	t.isLost(a, g, "an expired grant")
	t.grant(b, t.request(g.Key))
}

func renewalDoesNotInsert(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	g := driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: 1, TTL: steady}
	t.isLost(a, g, "a name that was never granted")
	t.grant(b, t.request(r.Key))
}

func renewalAfterRelease(t *trial) {
	a, b := t.open(), t.open()
	g := t.grant(a, t.request(t.key("x")))
	t.release(a, g)
	t.isLost(a, g, "a released grant")
	t.grant(b, t.request(g.Key))
}

func renewalByPosition(t *trial) {
	a, other := t.open(), t.open()
	good := make([]driver.Grant, 4)
	for i := range good {
		good[i] = t.grant(a, t.request(t.key(string(rune('a'+i)))))
	}
	// The client other holds the lease that expires. If grants end with a session, the expiry ends the session of
	// other, but must not end the session of a.
	expired := t.expired(other, t.request(t.key("expired")))
	never := driver.Grant{Key: t.key("never"), Nonce: driver.NewNonce(), Token: 1, TTL: steady}
	foreign := good[0]
	foreign.Key, foreign.Nonce = t.grant(other, t.request(t.key("foreign"))).Key, driver.NewNonce()
	for _, batch := range [][]driver.Grant{
		{good[0], expired, good[1], never, good[2], foreign, good[3]},
		{foreign, good[3], never, good[1], expired, good[0], good[2]},
		{good[2], never, foreign, expired, good[0]},
	} {
		want := make([]driver.Outcome, len(batch))
		for i, g := range batch {
			want[i] = driver.Lost
			if slices.Contains(good, g) {
				want[i] = driver.Renewed
			}
		}
		if got := t.renewAll(a, batch...); !slices.Equal(got, want) {
			t.fatalf("a batch of held, expired, foreign and never granted leases: want %v, got %v", want, got)
		}
	}
}

func renewalOfMany(t *trial) {
	a := t.open()
	grants := make([]driver.Grant, 100)
	for i := range grants {
		grants[i] = t.grant(a, t.request(t.key(string(rune('一'+i)))))
	}
	for i, got := range t.renewAll(a, grants...) {
		if got != driver.Renewed {
			t.fatalf("grant %d of %d: %s", i, len(grants), got)
		}
	}
}

func renewalBesideRelease(t *trial) {
	b := t.open()
	kept := t.grant(b, t.request(t.key("kept")))
	for i := range 50 {
		g := t.grant(b, t.request(t.key(fmt.Sprint(i))))
		released := make(chan error, 1)
		go func() { released <- b.Release(t.ctx, g) }()
		if got := t.renewAll(b, kept, g)[0]; got != driver.Renewed {
			t.fatalf("renew a grant while another one of the batch is released: %s", got)
		}
		if err := <-released; err != nil {
			t.fatalf("release during a renewal: %v", err)
		}
		t.isHeld(b, kept)
	}
}
