package model

// claimSteps are those of client i's claim: it locks the mark, proves its lease to the lease store
// under that lock, gives the mark a larger token and its nonce, and commits. The client may be stopped
// before each of them.
func (m Fence) claimSteps(to *FenceState, i int, do func(string)) {
	c := &to.clients[i]
	prove := func(next phase) {
		if !c.holds {
			c.phase = over
			do("is refused its claim by the lease store")
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

// claimed says whether another client than i has the mark locked for its claim.
func (m Fence) claimed(s FenceState, i int) bool {
	for j, other := range s.clients {
		if j != i && (other.phase == locked || other.phase == sure) {
			return true
		}
	}
	return false
}
