package model_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/model"
	"github.com/rowlock/rowlock/internal/testenv"
)

// shippedLease returns the model of the engine and a lease row, on a store without failovers whose clock is
// not set.
func shippedLease() model.Lease { return model.Lease{TTL: 3, Requests: 2} }

// failover lets a lagging replica take over at any moment. After that, the replica grants nothing for one TTL.
func failover(m *model.Lease) { m.Requests, m.Failover, m.Quarantine = 1, true, m.TTL }

// Two processes never trust their leases at the same time, no matter how messages are delayed or lost. Some cases
// leave out a part of the protocol or break an assumption. There a double hold is possible, unless another part of the
// protocol prevents it.
func TestLease(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Lease)
		want   verdict // S4
	}{
		"shipped":                    {func(*model.Lease) {}, holds},
		"shipped, failover":          {failover, holds},
		"deadline from the reply":    {func(m *model.Lease) { m.FromReply = true }, breaks},
		"release of another's grant": {func(m *model.Lease) { m.ReleaseAny = true }, breaks},
		"no quarantine":              {func(m *model.Lease) { failover(m); m.Quarantine = 0 }, breaks},
		"quarantine too short":       {func(m *model.Lease) { failover(m); m.Quarantine-- }, breaks},

		// The protocol assumes that the store's clock is never set forward by more than the margin.
		"clock steps by the margin":           {func(m *model.Lease) { m.Margin, m.ClockStep = 1, 1 }, holds},
		"clock steps by the margin, failover": {func(m *model.Lease) { failover(m); m.Margin, m.ClockStep = 1, 1 }, holds},
		"clock steps by more":                 {func(m *model.Lease) { m.Margin, m.ClockStep = 1, 2 }, breaks},

		// After a release another process may acquire the name before the deadline, so a late reply must not
		// revive the lease.
		"released leases revive": {func(m *model.Lease) { m.ReleaseRevives = true }, breaks},

		// Two rules protect after the deadline. Rule 1: a process never trusts a lost lease again. Rule 2: the store
		// renews only the grant that is live in its row. Each rule alone is enough. With rule 2 alone, a late reply
		// proves that the store renewed this grant while the grant was live. So the process may trust its lease again.
		// With rule 1 alone, the row can contain another grant only after the process's deadline. So the process
		// ignores the late reply. Without both rules, two processes can trust their leases at the same time.
		"expired leases revive":           {func(m *model.Lease) { m.ExpiryRevives = true }, holds},
		"expired leases revive, failover": {func(m *model.Lease) { failover(m); m.ExpiryRevives = true }, holds},
		"another's grant is renewed":      {func(m *model.Lease) { m.RenewAny = true }, holds},
		"another's grant is renewed, expired ones revive": {func(m *model.Lease) {
			m.RenewAny, m.ExpiryRevives = true, true
		}, breaks},
		"an expired grant is renewed":           {func(m *model.Lease) { m.RenewExpired = true }, holds},
		"an expired grant is renewed, failover": {func(m *model.Lease) { failover(m); m.RenewExpired = true }, holds},

		// After a failover, the row may contain an old grant of another process. If the store does not compare nonces, it
		// renews that old grant for this process. The other process may still release the grant.
		"another's grant is renewed, failover": {func(m *model.Lease) { failover(m); m.RenewAny = true }, breaks},

		// Renewing an expired grant is harmful only if a failover has lost a grant that was made after the expiry.
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
			explain(t, "S4, at most one trusts,", r)
			assert.Equal(t, c.want, verdict(len(r.Trace) == 0))
		})
	}
}

// With two requests at once, the failovers have many more states.
func TestCompatLeaseWithTwoRequests(t *testing.T) {
	testenv.Compat(t)
	m := shippedLease()
	m.TTL = 2
	failover(&m)
	m.Requests = 2
	r := model.Search(m, model.LeaseState.DoubleHold)
	explain(t, "S4, at most one trusts,", r)
	assert.Empty(t, r.Trace)
}

// The search takes every step of the lease model at least once. If some steps never happened, the invariant might hold
// only for that reason.
func TestLeaseModelIsNotVacuous(t *testing.T) {
	m := shippedLease()
	failover(&m)
	r := model.Search(m, model.LeaseState.DoubleHold)
	for _, what := range []string{
		"tick", "catches up", "fails over to the replica", "sends an acquire", "sends a renewal",
		"stops trusting its lease, and sends a release", "is released at the store", "restarts with another nonce",
		"is granted the lease", "is refused: quarantine", "is refused: held", "is renewed at the store",
		"has its renewal rejected", "receives its grant, and trusts it",
		"receives its grant after its acquisition has ended, and ignores it", "receives its grant too late to trust it",
	} {
		assert.Contains(t, r.Taken, what)
	}
}
