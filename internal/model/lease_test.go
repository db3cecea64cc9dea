package model_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/model"
)

// What the engine and a lease row do, on a store that does not fail over and whose clock is not set.
func shippedLease() model.Lease { return model.Lease{TTL: 3, Requests: 2} }

// A lagging replica may take over at any moment, and grants nothing for one TTL.
func failover(m *model.Lease) { m.Requests, m.Failover, m.Quarantine = 1, true, m.TTL }

// No two processes believe at once that they hold a lease, however messages are delayed or lost.
// Where a part of the protocol is left out or an assumption broken, two do, unless another part stands in.
func TestLease(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Lease)
		want   verdict // S4
	}{
		"shipped":           {func(*model.Lease) {}, holds},
		"shipped, failover": {failover, holds},
		"shipped, failover, two requests at once": {func(m *model.Lease) {
			m.TTL = 2
			failover(m)
			m.Requests = 2
		}, holds},
		"deadline from the reply":    {func(m *model.Lease) { m.FromReply = true }, breaks},
		"release of another's grant": {func(m *model.Lease) { m.ReleaseAny = true }, breaks},
		"no quarantine":              {func(m *model.Lease) { failover(m); m.Quarantine = 0 }, breaks},
		"quarantine too short":       {func(m *model.Lease) { failover(m); m.Quarantine-- }, breaks},

		// No step of the store's clock is larger than the margin: this is assumed, and what it is for.
		"clock steps by the margin":           {func(m *model.Lease) { m.Margin, m.ClockStep = 1, 1 }, holds},
		"clock steps by the margin, failover": {func(m *model.Lease) { failover(m); m.Margin, m.ClockStep = 1, 1 }, holds},
		"clock steps by more":                 {func(m *model.Lease) { m.Margin, m.ClockStep = 1, 2 }, breaks},

		// A release lets another in before the deadline, so a late reply must not revive the lease.
		"released leases revive": {func(m *model.Lease) { m.ReleaseRevives = true }, breaks},

		// After the deadline the latch and a strict renewal are each other's second line. A reply
		// that is late proves that the store renewed this very grant while it was alive, so believing
		// it costs no exclusion; and where the store renews carelessly, the grant's own deadline has
		// passed before another's is in the row, so the latch ignores it. Without both, two believe.
		// (What the latch alone keeps is that a loss is final, which is no matter of two processes.)
		"expired leases revive":           {func(m *model.Lease) { m.ExpiryRevives = true }, holds},
		"expired leases revive, failover": {func(m *model.Lease) { failover(m); m.ExpiryRevives = true }, holds},
		"another's grant is renewed":      {func(m *model.Lease) { m.RenewAny = true }, holds},
		"another's grant is renewed, expired ones revive": {func(m *model.Lease) {
			m.RenewAny, m.ExpiryRevives = true, true
		}, breaks},
		"an expired grant is renewed":           {func(m *model.Lease) { m.RenewExpired = true }, holds},
		"an expired grant is renewed, failover": {func(m *model.Lease) { failover(m); m.RenewExpired = true }, holds},

		// After a failover the row may be another's that was over long ago. To renew that is to trust a
		// row that its owner may still release.
		"another's grant is renewed, failover": {func(m *model.Lease) { failover(m); m.RenewAny = true }, breaks},

		// That a store renews an expired grant needs a failover to harm, which undoes a grant in between.
		"an expired grant is renewed, expired ones revive": {func(m *model.Lease) {
			m.RenewExpired, m.ExpiryRevives = true, true
		}, holds},
		"an expired grant is renewed, expired ones revive, failover": {func(m *model.Lease) {
			failover(m)
			m.RenewExpired, m.ExpiryRevives = true, true
		}, breaks},
	} {
		t.Run(name, func(t *testing.T) {
			m := shippedLease()
			c.change(&m)
			r := model.Search(m, model.LeaseState.DoubleHold)
			explain(t, "S4, at most one believes,", r)
			assert.Equal(t, c.want, verdict(len(r.Trace) == 0))
		})
	}
}

// The model of the lease is not safe for want of anything happening in it.
func TestLeaseModelIsNotVacuous(t *testing.T) {
	m := shippedLease()
	failover(&m)
	r := model.Search(m, model.LeaseState.DoubleHold)
	for _, what := range []string{
		"tick", "catches up", "fails over to the replica", "sends an acquire", "sends a renewal",
		"stops to trust, and sends a release", "is released at the store", "begins anew with another nonce",
		"is granted the lease", "is refused: quarantine", "is refused: held", "is renewed at the store",
		"is refused its renewal", "is told of its grant, and trusts it",
		"is told of its grant after the end, and ignores it", "is told of a grant too late to trust it",
	} {
		assert.Contains(t, r.Taken, what)
	}
}
