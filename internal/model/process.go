package model

import (
	"fmt"
	"strings"
)

// processSteps adds the steps that process i can take without a message.
func (m Lease) processSteps(s LeaseState, i int, add func(Step, LeaseState)) {
	self := uint8(i + 1)
	with := func(what string, change func(*LeaseState, *process)) {
		to := s
		change(&to, &to.processes[i])
		m.sort(&to.processes[i])
		add(Step{names[i], what}, to)
	}
	p := s.processes[i]
	switch p.life {
	case asleep, asking:
		if m.room(p) {
			with("sends an acquire", func(_ *LeaseState, p *process) { p.life = asking; m.send(p, acquire) })
		}
	case trusting:
		if p.trust == 0 {
			break
		}
		if m.room(p) {
			with("sends a renewal", func(_ *LeaseState, p *process) { m.send(p, renew) })
		}
		with("stops trusting its lease, and sends a release", func(_ *LeaseState, p *process) { p.life, p.trust = released, 0 })
	case released:
		if s.row.by == self || m.ReleaseAny && s.row.by != 0 {
			with("is released at the store", func(to *LeaseState, _ *process) { to.row = grant{} })
		}
	}
	if p.life != asleep && p.trust == 0 {
		with("restarts with another nonce", func(to *LeaseState, p *process) {
			*p = process{}
			for _, g := range []*grant{&to.row, &to.replica} {
				if g.by == self {
					g.by = gone
				}
			}
		})
	}
}

// messageSteps adds the steps that can happen to message j of process i: it is lost, delivered or answered.
func (m Lease) messageSteps(s LeaseState, i, j int, add func(Step, LeaseState)) {
	msg := s.processes[i].messages[j]
	if msg.kind == none {
		return
	}
	to := s
	p := &to.processes[i]
	p.messages[j] = message{}
	do := func(who, what string) { m.sort(p); add(Step{who, what}, to) }
	if !msg.answered {
		done, how := m.serve(&to, i, msg.kind)
		if done {
			msg.answered = true
			p.messages[j] = msg
		}
		do(names[i], how)
		return
	}

	worth := m.TTL - m.Margin - min(msg.age, m.TTL-m.Margin)
	if m.FromReply {
		worth = m.TTL - m.Margin
	}
	switch {
	case p.life == asking && worth == 0:
		p.life = lost
		do(names[i], "receives its grant too late to trust it")
	case p.life == asking,
		p.life == trusting && (p.trust > 0 || m.ExpiryRevives),
		p.life == released && m.ReleaseRevives && worth > 0:
		p.life, p.trust = trusting, max(p.trust, worth)
		do(names[i], "receives its grant, and trusts it")
	default:
		do(names[i], "receives its grant after its acquisition has ended, and ignores it")
	}
}

// serve applies a request of process i to the store. It reports whether the store grants the request,
// and writes a description of the step to the parameter how.
func (m Lease) serve(to *LeaseState, i int, k kind) (done bool, how string) {
	self := uint8(i + 1)
	row := &to.row
	if k == acquire {
		if to.closed > 0 {
			return false, "is refused: quarantine"
		}
		if row.by != self && row.left > 0 {
			return false, "is refused: held"
		}
		*row = grant{by: self, left: m.TTL}
		return true, "is granted the lease"
	}
	alive := row.left > 0 || m.RenewExpired
	if row.by != self && !m.RenewAny || !alive {
		return false, "has its renewal rejected"
	}
	row.left = m.TTL
	return true, "is renewed at the store"
}

// send adds a new request to the messages of p, which has room for one.
func (m Lease) send(p *process, k kind) {
	for j := range m.Requests {
		if p.messages[j].kind == none {
			p.messages[j] = message{kind: k}
			return
		}
	}
}

func (m Lease) room(p process) bool {
	for _, msg := range p.messages[:m.Requests] {
		if msg.kind == none {
			return true
		}
	}
	return false
}

// sort orders the messages of p, so that equal sets of messages are equal states.
func (m Lease) sort(p *process) {
	rank := func(msg message) int {
		answered := 0
		if msg.answered {
			answered = 1
		}
		return -(int(msg.kind)*512 + answered*256 + int(msg.age))
	}
	if rank(p.messages[1]) < rank(p.messages[0]) {
		p.messages[0], p.messages[1] = p.messages[1], p.messages[0]
	}
}

// String returns the state of the store, and for how long each process trusts its lease.
func (s LeaseState) String() string {
	var b strings.Builder
	owners := [...]string{"nobody", names[0], names[1], "an earlier process"}
	fmt.Fprintf(&b, "store: %s for %d", owners[s.row.by], s.row.left)
	if s.closed > 0 {
		fmt.Fprintf(&b, ", in quarantine for %d", s.closed)
	}
	for i, p := range s.processes {
		if p.trust > 0 {
			fmt.Fprintf(&b, "; %s trusts for %d", names[i], p.trust)
		}
	}
	return b.String()
}
