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

// What package fence does, under three clients of two writes each.
func shippedFence() model.Fence {
	return model.Fence{Clients: 3, Writes: 2, Seal: model.SealNewer, Check: model.CheckSealed}
}

// The fence keeps stale writers out and loses no update, however late writes and seals arrive and
// however often leases expire; each of its parts is needed, and so are tokens that survive.
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

		// The mark falls, and old writers pass again.
		"seal without comparing": {func(m *model.Fence) { m.Seal = model.SealAlways }, breaks, breaks},

		// The fence on writes alone, which is a lazy check: it covers writes and not reads.
		"no seal": {func(m *model.Fence) { m.Seal, m.Check = model.NoSeal, model.CheckAtLeast }, holds, breaks},
		"no seal, failover, no floor": {func(m *model.Fence) {
			m.Seal, m.Check, m.Failovers = model.NoSeal, model.CheckAtLeast, 2
		}, breaks, breaks},

		// Tokens are unique unless a failover mints one twice, so <= harms only there. Then two grants
		// write under one token. The nonce in the check does not help: a seal that arrives once more
		// takes the mark back from the other grant.
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

		// A claim needs no token of the store. Where the store excludes, writes have the order of the
		// holds, which needs the proof under the mark's lock: else a claim comes late and beats the
		// successor's. Where it does not exclude there is no such order to keep, and still no update is
		// lost, unless a client that was overtaken claims again with what it has read before.
		"claim":                         {func(m *model.Fence) { m.Seal = model.SealClaim }, holds, holds},
		"claim, failover":               {func(m *model.Fence) { m.Seal, m.Failovers, m.Floor = model.SealClaim, 2, true }, holds, holds},
		"claim, proof before the lock":  {func(m *model.Fence) { m.Seal, m.ProveFirst = model.SealClaim, true }, breaks, holds},
		"claim, again":                  {func(m *model.Fence) { m.Seal, m.Reclaims = model.SealClaim, true }, holds, holds},
		"claim, shared":                 {func(m *model.Fence) { m.Seal, m.Shared = model.SealClaim, true }, breaks, holds},
		"claim, shared, again":          {func(m *model.Fence) { m.Seal, m.Shared, m.Reclaims = model.SealClaim, true, true }, breaks, breaks},
		"claim, shared, check not held": {func(m *model.Fence) { m.Seal, m.Shared, m.NotHeld = model.SealClaim, true, true }, breaks, breaks},

		// Where one client forgets to seal, equality refuses its writes, and >= lets them pass.
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

// fencedReads is what makes a seal unnecessary: the first read raises the mark itself.
func fencedReads(m *model.Fence) {
	m.Seal, m.Check, m.ReadRaise = model.NoSeal, model.CheckAtLeast, true
}

// The model of the fence is not safe for want of anything happening in it.
func TestFenceModelIsNotVacuous(t *testing.T) {
	m := shippedFence()
	m.Failovers, m.Floor = 2, true
	r := model.Search(m, model.FenceState.UpdateLost)
	for _, what := range []string{
		"expires", "loses the last grant in a failover", "is granted the lease", "seals", "is refused its seal",
		"reads, and sends a write", "begins its write, which passes", "is refused its write", "commits its write",
	} {
		assert.Contains(t, r.Taken, what)
	}
	claims := shippedFence()
	claims.Seal, claims.Shared = model.SealClaim, true
	r = model.Search(claims, func(model.FenceState) bool { return false })
	for _, what := range []string{
		"locks the mark", "proves its lease", "is refused its claim by the lease store", "commits its claim",
		"has its claim undone by the server",
	} {
		assert.Contains(t, r.Taken, what)
	}
	all := model.Search(m, func(s model.FenceState) bool { return s.Writes() == 6 })
	assert.NotEmpty(t, all.Trace, "all clients write as often as they may, one after the other")
}
