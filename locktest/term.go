package locktest

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

var termCases = []testCase{
	{
		name:    "lease-lasts",
		promise: "The store grants a name to no other holder before the granted TTL is over.",
		run:     leaseLasts,
	},
	{
		name:    "lease-ends",
		promise: "A lease that is not renewed ends with its TTL, and the name can be granted again.",
		run:     leaseEnds,
	},
	{
		name:    "crash-frees",
		promise: "The names of a dead client become free within the TTL, plus the time that the store needs to notice.",
		needs:   []power{crashing},
		run:     crashFrees,
	},
}

// needTerm skips a case about the store's clock if the backend declares that no clock ends its grants.
func (t *trial) needTerm(b driver.Backend) {
	if sessions(b) {
		t.skipf("grants end with a connection, not with a TTL (driver.Capabilities.Sessions)")
	}
}

// sessions reports whether the backend declares that its grants end with a connection.
func sessions(b driver.Backend) bool {
	return b.Capabilities().Sessions
}

// needRecord skips a case about the stored data of a grant if the backend declares that its store keeps no such data.
func (t *trial) needRecord(b driver.Backend) {
	if anonymous(b) {
		t.skipf("the store keeps neither holder, note nor token (driver.Capabilities.Anonymous)")
	}
}

// anonymous reports whether the backend declares that its store keeps no data of a grant.
func anonymous(b driver.Backend) bool {
	return b.Capabilities().Anonymous
}

// forgets reports whether the backend declares that its store keeps no data of a free name.
func forgets(b driver.Backend) bool {
	return b.Capabilities().Forgets
}

// tolerance returns d reduced by a tenth. A store's clock may run a tenth faster than the clock of this machine. The
// engine's default margin for wall clocks is also a tenth.
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
		t.fatalf("a lease of %s ended %s after the request", g.TTL, took)
	}
}

func leaseEnds(t *trial) {
	a, b := t.open(), t.open()
	t.needTerm(a)
	r := t.request(t.key("x"))
	r.TTL = brief
	old := t.grant(a, r)
	present := t.grantAtLast(b, t.request(r.Key))
	t.isLost(a, old, "a lease whose TTL is over")
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
		t.fatalf("token %d of a dead client was granted again", old.Token)
	}
}
