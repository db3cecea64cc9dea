package model

// claimSteps adds the steps of client i's claim. A claim locks the mark, asks the lease store to confirm the lease,
// sets the mark to a new token and the claim's nonce, and commits. The client may be suspended before each step.
func (m Fence) claimSteps(to *FenceState, i int, do func(string)) {
	c := &to.clients[i]
	prove := func(next phase) {
		if !c.holds {
			c.phase = over
			do("has its claim rejected by the lease store")
			return
		}
		c.phase = next
		do("proves its lease")
	}
	lock := func(next phase) {
		if m.free(*to, i) {
			c.phase = next
			do("locks the mark")
		}
	}
	switch {
	case c.phase == granted && m.ProveFirst:
		prove(asked)
	case c.phase == granted:
		lock(locked)
	case c.phase == asked:
		lock(sure)
	case c.phase == locked:
		prove(sure)
	case m.raise(to, i):
		c.phase = ready
		do("commits its claim")
	}
}

// The method claimed reports whether another client than i has locked the mark for its claim.
func (m Fence) claimed(s FenceState, i int) bool {
	for j, other := range s.clients {
		if j != i && (other.phase == locked || other.phase == sure) {
			return true
		}
	}
	return false
}
