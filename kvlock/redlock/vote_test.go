package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// The reason of a refusal comes from the node that decides when the lock is free. So a slow node that has not received
// a release does not make a released lock look held. A single node that has received a release does not make a held
// lock look released.
func TestTellsWhatDecides(t *testing.T) {
	held := vote{verdict: "leased", confirmed: 5, holder: "a", freeIn: 10 * time.Second}
	released := vote{verdict: "min hold", confirmed: 5, holder: "a", freeIn: time.Second}
	contended := vote{verdict: "leased", holder: "b", freeIn: 20 * time.Second}
	for _, one := range []struct {
		votes  []vote
		reason driver.Reason
		in     time.Duration
	}{
		{[]vote{held, released, released}, driver.MinHold, time.Second},
		{[]vote{released, held, released}, driver.MinHold, time.Second},
		{[]vote{released, held, held}, driver.Leased, 10 * time.Second},
		{[]vote{released, held}, driver.Leased, 10 * time.Second},
		{[]vote{held, contended, contended}, driver.Leased, 20 * time.Second},
		{[]vote{contended, contended, contended}, driver.Contended, 20 * time.Second},
	} {
		h := soonest(one.votes, vote.refused, 2)
		require.NotNil(t, h)
		assert.Equal(t, one.reason, h.Reason, "%v", one.votes)
		assert.Equal(t, one.in, h.ExpiresIn, "%v", one.votes)
	}
}

// If two nodes of three disagree whether the lock was released, the attempt waits for the third node.
func TestWaitsForWhoDecides(t *testing.T) {
	b := &Backend{nodes: make([]*node, 3)}
	held, released := vote{verdict: "leased", confirmed: 5}, vote{verdict: "min hold", confirmed: 5}
	assert.False(t, b.answered([]vote{held, released}, 1))
	assert.True(t, b.answered([]vote{held, held}, 1))
	assert.True(t, b.answered([]vote{released, released}, 1))
	assert.True(t, b.answered([]vote{{verdict: "leased", confirmed: 4}, released}, 1), "an older holder does not decide")
}
