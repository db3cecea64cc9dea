package model_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/model"
)

// shippedMint returns the model of the tokens of package mysqlock. Other programs take at most as many numbers as a run
// takes before its first token.
func shippedMint() model.Mint {
	return model.Mint{Grants: 4, Starts: 2, Others: 2, Block: 2, Advance: 2}
}

// Each grant has a larger token than all earlier grants, although a grant writes nothing: after restarts with the clock
// set back, after a failover to a server that was started earlier, and after a backup was restored. The other cases
// leave out a part of the protocol, or break an assumption.
func TestMint(t *testing.T) {
	failover := func(m *model.Mint) { m.Grants, m.Starts, m.Failovers, m.Others = 3, 1, 2, 1 }
	restore := func(m *model.Mint) { m.Grants, m.Starts, m.Restores, m.Others = 3, 1, 1, 1 }
	for name, c := range map[string]struct {
		change func(*model.Mint)
		want   verdict
	}{
		"shipped, restarts":                        {func(*model.Mint) {}, holds},
		"shipped, failover":                        {failover, holds},
		"shipped, failover, lost change, clock":    {func(m *model.Mint) { failover(m); m.Failovers, m.Lag, m.Clock = 1, true, true }, holds},
		"shipped, restored backup, clock":          {func(m *model.Mint) { restore(m); m.Clock = true }, holds},
		"restored backup, clock set back":          {restore, breaks},
		"failover, lost change, clock set back":    {func(m *model.Mint) { failover(m); m.Lag = true }, breaks},
		"tokens that are not reserved":             {func(m *model.Mint) { m.Unchecked = true }, breaks},
		"another run begins above the first token": {func(m *model.Mint) { m.Rebased = true }, breaks},
		"the number is taken before the lock":      {func(m *model.Mint) { m.Early = true }, breaks},
		"a run is known by its number":             {func(m *model.Mint) { m.CountOnly = true }, breaks},
		"a run is known by its second":             {func(m *model.Mint) { m.RunOnly = true }, breaks},

		// Two runs of a server may begin in the same second. The numbers that the first run has taken before its first
		// token tell them apart, unless other programs take as many before the first session of the second run connects.
		"no numbers in advance":                                  {func(m *model.Mint) { m.Advance = 0 }, breaks},
		"other programs take more numbers than a run in advance": {func(m *model.Mint) { m.Others = 4 }, breaks},

		// A primary of long ago serves again without a new start. It has its own row, because the row of the primary in
		// between was lost. So its tokens do not begin above the clock.
		"two failovers, lost change, clock": {func(m *model.Mint) { failover(m); m.Lag, m.Clock = true, true }, breaks},

		// A server that becomes read-only ends its sessions, at the next renewal at the latest.
		"a primary does not notice two failovers": {func(m *model.Mint) { failover(m); m.Unnoticed = true }, breaks},
	} {
		t.Run(name, func(t *testing.T) {
			m := shippedMint()
			c.change(&m)
			r := model.Search(m, model.MintState.TokensFell)
			explain(t, "each token is larger than all earlier ones", r)
			assert.Equal(t, c.want, verdict(len(r.Trace) == 0))
		})
	}
}

// The search takes every step of the model.
func TestMintModelIsNotVacuous(t *testing.T) {
	m := shippedMint()
	m.Grants, m.Starts, m.Failovers, m.Restores, m.Others, m.Clock, m.Lag = 1, 1, 1, 1, 1, true, true
	r := model.Search(m, model.MintState.TokensFell)
	for _, what := range []string{
		"connects", "is granted the lock", "takes a number", "starts again in second 1", "catches up", "fails over",
		"makes a backup", "restores the backup, and starts the server again", "crashes and fails over, and loses a change",
	} {
		assert.Contains(t, r.Taken, what)
	}
}
