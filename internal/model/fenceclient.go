package model

import (
	"fmt"
	"strings"
)

var names = [...]string{"A", "B", "C"}

// clientSteps adds the steps of client i. Each step is the arrival of one request at a store.
// Because steps can happen in any order, they cover all delays of clients and of the network.
func (m Fence) clientSteps(s FenceState, i int, add func(Step, FenceState)) {
	if again := s; s.clients[i].phase > peeked && m.seals(i) && m.Seal != SealClaim && m.accepts(s, i) && m.raise(&again, i) {
		add(Step{names[i], "has its seal delivered a second time"}, again)
	}
	if p := s.clients[i].phase; p == locked || p == sure {
		undone := s
		undone.clients[i].phase = over
		add(Step{names[i], "has its claim rolled back by the server"}, undone)
	}
	to := s
	c := &to.clients[i]
	do := func(what string) { add(Step{names[i], what}, to) }
	switch c.phase {
	case idle:
		if !m.grants(s) {
			return
		}
		c.token = s.counter + 1
		if m.Floor {
			c.token = s.largest + 1
		}
		to.counter, to.largest = c.token, max(s.largest, c.token)
		c.holds = true
		c.phase = granted
		if !m.seals(i) {
			c.phase = ready
		}
		do("is granted the lease")
	case granted, asked, locked, sure:
		if m.Seal == SealClaim {
			m.claimSteps(&to, i, do)
			return
		}
		if m.SealLate {
			c.phase, c.read = peeked, s.value
			do("reads before it seals")
			return
		}
		m.seal(&to, i, ready, do)
	case peeked:
		m.seal(&to, i, writing, do)
	case ready:
		m.readValue(&to, i, do)
	case writing:
		if again := s; m.Reclaims && again.markedBy != uint8(i) && c.holds && m.raise(&again, i) {
			add(Step{names[i], "claims again, and keeps what it has read"}, again)
		}
		m.check(&to, i, do)
	case checked:
		c.phase = ready
		if c.writes++; int(c.writes) == m.Writes {
			c.phase = over
		}
		w := write{token: c.token, by: uint8(i)}
		to.lost = c.read != s.value
		to.fell = s.value > 0 && (w.token < s.last.token || w.token == s.last.token && w.by != s.last.by)
		to.last = w
		to.value++
		do("commits its write")
	}
}

func (m Fence) seals(i int) bool { return m.Seal != NoSeal && i < m.Clients-m.Unsealed }

// accepts reports whether a seal of client i that arrives now raises the mark.
func (m Fence) accepts(s FenceState, i int) bool {
	token := s.clients[i].token
	return m.Seal == SealAlways || token > s.mark || m.Seal == SealEqual && token == s.mark
}

// seal applies client i's seal. The parameter next is the client's next phase.
func (m Fence) seal(to *FenceState, i int, next phase, do func(string)) {
	c := &to.clients[i]
	if !m.accepts(*to, i) {
		c.phase = over
		do("has its seal rejected")
		return
	}
	if !m.raise(to, i) {
		return
	}
	c.phase = next
	do("seals")
}

func (m Fence) readValue(to *FenceState, i int, do func(string)) {
	c := &to.clients[i]
	if m.ReadRaise {
		if c.token < to.mark {
			c.phase = over
			do("has its read rejected")
			return
		}
		if c.token > to.mark && !m.raise(to, i) {
			return
		}
	}
	c.phase, c.read = writing, to.value
	do("reads, and sends a write")
}

func (m Fence) check(to *FenceState, i int, do func(string)) {
	if m.claimed(*to, i) {
		return
	}
	c := &to.clients[i]
	fresh := true
	switch m.Check {
	case CheckAtLeast:
		fresh = c.token >= to.mark
	case CheckSealed:
		fresh = to.mark > 0 && uint8(i) == to.markedBy
	}
	if !fresh {
		c.phase = over
		do("has its write rejected")
		return
	}
	if m.Check == CheckAtLeast && c.token > to.mark && !m.raise(to, i) {
		return
	}
	c.phase = checked
	do("begins its write, which passes the check")
}

// raise sets the mark to client i's grant, or, for a claim, to a token that the resource makes.
// It returns false while another transaction has the mark locked.
func (m Fence) raise(to *FenceState, i int) bool {
	if !m.free(*to, i) {
		return false
	}
	token := to.clients[i].token
	if m.Seal == SealClaim {
		token = to.mark + 1
	}
	to.mark, to.markedBy = token, uint8(i)
	return true
}

// The method free reports whether client i can now lock the mark in order to change it.
func (m Fence) free(s FenceState, i int) bool {
	for j, other := range s.clients {
		if j != i && other.phase == checked && !m.NotHeld {
			return false
		}
	}
	return !m.claimed(s, i)
}

// String returns the mark and the client that set it, the value, and the token and the last read of each client.
func (s FenceState) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "mark %d", s.mark)
	if s.mark > 0 {
		fmt.Fprintf(&b, " of %s", names[s.markedBy])
	}
	fmt.Fprintf(&b, ", value %d", s.value)
	for i, c := range s.clients {
		switch c.phase {
		case idle:
		case peeked, writing, checked:
			fmt.Fprintf(&b, "; %s token %d, read %d", names[i], c.token, c.read)
		default:
			fmt.Fprintf(&b, "; %s token %d", names[i], c.token)
		}
	}
	return b.String()
}
