package model_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/model"
)

type verdict bool

const (
	holds  verdict = true
	breaks verdict = false
)

// shippedFence returns the model of package fence, with three clients of two writes each.
func shippedFence() model.Fence {
	return model.Fence{Clients: 3, Writes: 2, Seal: model.SealNewer, Check: model.CheckSealed}
}

// The fence rejects stale writers, so no update is lost, no matter how late writes and seals arrive and how often
// leases expire. The other cases change the fence, or let the lease store lose tokens in a failover. Some of them lose
// an update or let tokens decrease.
func TestFence(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*model.Fence)
		tokensRise verdict // S5
		noneLost   verdict // S5'
	}{
		"shipped":                                     {func(*model.Fence) {}, holds, holds},
		"shipped, failover":                           {func(m *model.Fence) { m.Failovers, m.Floor = 2, true }, holds, holds},
		"shipped, failover, no floor":                 {func(m *model.Fence) { m.Failovers = 2 }, holds, holds},
		"not older than the mark":                     {func(m *model.Fence) { m.Check = model.CheckAtLeast }, holds, holds},
		"not older than the mark, failover, no floor": {func(m *model.Fence) { m.Check, m.Failovers = model.CheckAtLeast, 2 }, holds, holds},
		"no fence":                                    {func(m *model.Fence) { m.Seal, m.Check = model.NoSeal, model.NoCheck }, breaks, breaks},
		"check not held to the commit":                {func(m *model.Fence) { m.NotHeld = true }, breaks, breaks},
		"seal after the first read":                   {func(m *model.Fence) { m.SealLate = true }, holds, breaks},
		"fenced reads, no seal":                       {func(m *model.Fence) { fencedReads(m) }, holds, holds},
		"fenced reads, failover":                      {func(m *model.Fence) { fencedReads(m); m.Failovers, m.Floor = 2, true }, holds, holds},
		"fenced reads, failover, no floor":            {func(m *model.Fence) { fencedReads(m); m.Failovers = 2 }, breaks, breaks},

		// The mark decreases, so that old writers can write again.
		"seal without comparing": {func(m *model.Fence) { m.Seal = model.SealAlways }, breaks, breaks},

		// Without a seal, tokens still rise in the order of the writes, but an update can be lost after a read.
		"no seal": {func(m *model.Fence) { m.Seal, m.Check = model.NoSeal, model.CheckAtLeast }, holds, breaks},
		"no seal, failover, no floor": {func(m *model.Fence) {
			m.Seal, m.Check, m.Failovers = model.NoSeal, model.CheckAtLeast, 2
		}, breaks, breaks},

		// A seal with an equal token does harm only if the store makes the same token twice because of a failover.
		// Then two grants write with the same token. The check compares nonces, but that does not help. A repeated
		// seal of one grant replaces the nonce of the other grant.
		"seal with <=": {func(m *model.Fence) { m.Seal = model.SealEqual }, holds, holds},
		"seal with <=, failover": {func(m *model.Fence) {
			m.Seal, m.Failovers, m.Floor = model.SealEqual, 2, true
		}, holds, holds},
		"seal with <=, failover, no floor": {func(m *model.Fence) {
			m.Seal, m.Failovers = model.SealEqual, 2
		}, breaks, breaks},
		"seal with <=, failover, no floor, no nonce": {func(m *model.Fence) {
			m.Seal, m.Check, m.Failovers = model.SealEqual, model.CheckAtLeast, 2
		}, breaks, breaks},

		// A claim needs no token from the lease store. If the lease store excludes other holders, the writes have the
		// order of the grants. For that order, the claim must prove its lease while the mark is locked. Otherwise a
		// late claim can replace the claim of the next holder. If the lease store does not exclude other holders, the
		// writes have no such order, but no update is lost. There is one exception. An update can be lost if a client
		// claims again after its claim was replaced, and still uses its old read.
		"claim":                         {func(m *model.Fence) { m.Seal = model.SealClaim }, holds, holds},
		"claim, failover":               {func(m *model.Fence) { m.Seal, m.Failovers, m.Floor = model.SealClaim, 2, true }, holds, holds},
		"claim, proof before the lock":  {func(m *model.Fence) { m.Seal, m.ProveFirst = model.SealClaim, true }, breaks, holds},
		"claim, again":                  {func(m *model.Fence) { m.Seal, m.Reclaims = model.SealClaim, true }, holds, holds},
		"claim, shared":                 {func(m *model.Fence) { m.Seal, m.Shared = model.SealClaim, true }, breaks, holds},
		"claim, shared, again":          {func(m *model.Fence) { m.Seal, m.Shared, m.Reclaims = model.SealClaim, true, true }, breaks, breaks},
		"claim, shared, check not held": {func(m *model.Fence) { m.Seal, m.Shared, m.NotHeld = model.SealClaim, true, true }, breaks, breaks},

		// If one client does not seal, CheckSealed rejects its writes, and CheckAtLeast accepts them.
		"one does not seal": {func(m *model.Fence) { m.Unsealed = 1 }, holds, holds},
		"one does not seal, not older than the mark": {func(m *model.Fence) {
			m.Unsealed, m.Check = 1, model.CheckAtLeast
		}, holds, breaks},
	} {
		t.Run(name, func(t *testing.T) {
			m := shippedFence()
			c.change(&m)
			rise := model.Search(m, model.FenceState.TokensFell)
			explain(t, "S5, tokens rise in the order of the writes,", rise)
			assert.Equal(t, c.tokensRise, verdict(len(rise.Trace) == 0), "S5")
			lost := model.Search(m, model.FenceState.UpdateLost)
			explain(t, "S5', each write replaces what its writer has read,", lost)
			assert.Equal(t, c.noneLost, verdict(len(lost.Trace) == 0), "S5'")
		})
	}
}

// fencedReads replaces the seal: each read raises the mark to the reader's token.
func fencedReads(m *model.Fence) {
	m.Seal, m.Check, m.ReadRaise = model.NoSeal, model.CheckAtLeast, true
}

// The search takes every step of the fence model at least once. If some steps never happened, the invariants might
// hold only for that reason.
func TestFenceModelIsNotVacuous(t *testing.T) {
	m := shippedFence()
	m.Failovers, m.Floor = 2, true
	r := model.Search(m, model.FenceState.UpdateLost)
	for _, what := range []string{
		"expires", "loses the last grant in a failover", "is granted the lease", "seals", "has its seal rejected",
		"reads, and sends a write", "begins its write, which passes the check", "has its write rejected", "commits its write",
	} {
		assert.Contains(t, r.Taken, what)
	}
	claims := shippedFence()
	claims.Seal, claims.Shared = model.SealClaim, true
	r = model.Search(claims, func(model.FenceState) bool { return false })
	for _, what := range []string{
		"locks the mark", "proves its lease", "has its claim rejected by the lease store", "commits its claim",
		"has its claim rolled back by the server",
	} {
		assert.Contains(t, r.Taken, what)
	}
	all := model.Search(m, func(s model.FenceState) bool { return s.Writes() == 6 })
	assert.NotEmpty(t, all.Trace, "all clients write as often as they may, one after the other")
}
