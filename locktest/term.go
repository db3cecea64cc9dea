package locktest

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

var termCases = []testCase{
	{
		name:    "lease-lasts",
		promise: "The store grants a name to nobody else before the TTL that it granted is over.",
		run:     leaseLasts,
	},
	{
		name:    "lease-ends",
		promise: "A lease that is not renewed ends with its TTL, and the name can be granted again.",
		run:     leaseEnds,
	},
	{
		name:    "crash-frees",
		promise: "A client that dies frees its names within the TTL and what the store needs to notice.",
		needs:   []power{crashing},
		run:     crashFrees,
	},
}

// needTerm skips a case about the store's clock on a backend that declares not to use it.
func (t *trial) needTerm(b driver.Backend) {
	if sessions(b) {
		t.skipf("grants end with a connection, not with a TTL (driver.Capabilities.Sessions)")
	}
}

// sessions says whether the backend declares that its grants end with a connection.
func sessions(b driver.Backend) bool {
	return b.Capabilities().Sessions
}

// needRecord skips a case about what the store keeps of a grant on a backend that declares to keep
// no more than that there is one.
func (t *trial) needRecord(b driver.Backend) {
	if anonymous(b) {
		t.skipf("the store keeps neither holder, note nor token (driver.Capabilities.Anonymous)")
	}
}

// anonymous says whether the backend declares that its store keeps no record of a grant.
func anonymous(b driver.Backend) bool {
	return b.Capabilities().Anonymous
}

// forgets says whether the backend declares that its store keeps nothing of a free name.
func forgets(b driver.Backend) bool {
	return b.Capabilities().Forgets
}

// tolerance is by how much a store's clock may run faster than ours: the margin that the engine
// keeps for it, a tenth.
func tolerance(d time.Duration) time.Duration { return d - d/10 }

func leaseLasts(t *trial) {
	a, b := t.open(), t.open()
	t.needTerm(a)
	r := t.request(t.key("x"))
	r.TTL = brief
	sent := time.Now()
	g := t.grant(a, r)
	next := t.request(r.Key)
	t.grantAtLast(b, next)
	if took := time.Since(sent); took < tolerance(g.TTL) {
		t.fatalf("a lease of %s was over %s after it was asked for", g.TTL, took)
	}
}

func leaseEnds(t *trial) {
	a, b := t.open(), t.open()
	t.needTerm(a)
	r := t.request(t.key("x"))
	r.TTL = brief
	old := t.grant(a, r)
	present := t.grantAtLast(b, t.request(r.Key))
	t.isLost(a, old, "of a lease whose TTL is over")
	t.isHeld(b, present)
}

func crashFrees(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	r.TTL = brief
	old := t.grant(a, r)
	if err := t.harness.(Crasher).Crash(a); err != nil {
		t.fatalf("crash a client: %v", err)
	}
	present := t.grantAtLast(b, t.request(r.Key))
	if present.Token == old.Token && old.Token != 0 {
		t.fatalf("the token of a dead client, %d, was granted again", old.Token)
	}
}
