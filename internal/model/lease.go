package model

// Lease models two processes that acquire, renew, lose and release a lease of TTL ticks. The store has a clock,
// and the network delays and loses messages. All clocks tick together, and only the store's clock may be set.
// The model stores only remaining times, so it covers runs of any length.
type Lease struct {
	TTL      uint8 // in ticks
	Margin   uint8 // the deadline is this many ticks before the end of the TTL
	Requests int   // the number of requests that one process can have in transit at the same time, at most 2

	FromReply      bool // variant: the deadline counts from the arrival of the reply instead of from the sending of the request
	ExpiryRevives  bool // variant: a process trusts its lease again if a reply arrives after the deadline
	ReleaseRevives bool // variant: a process trusts its lease again if a reply arrives after the release

	RenewAny     bool // variant: the store renews any live grant without comparing nonces
	RenewExpired bool // variant: the store renews an expired grant if it has granted nothing since
	ReleaseAny   bool // variant: the store releases any grant without comparing nonces

	ClockStep  uint8 // the store's clock may be set forward once, by this many ticks
	Failover   bool  // the store may fail over to a replica that lags behind, any number of times
	Quarantine uint8 // for this many ticks after a failover, the store grants nothing
}

// grant is the last grant in the store's row, with its remaining ticks.
type grant struct {
	by   uint8 // the owner: 0 nobody, 1 or 2 a process, 3 a process before its restart
	left uint8
}

const gone = 3

// LeaseState is one state of a [Lease].
type LeaseState struct {
	row, replica grant
	closed       uint8 // the remaining ticks of the quarantine
	stepped      bool
	processes    [2]process
}

// life is the progress of a process in one acquisition.
type life uint8

const (
	asleep   life = iota
	asking        // has sent an acquire, and may send it again
	trusting      // has received the grant, and renews its lease
	lost          // permanently
	released      // the process never trusts the lease again; the release may be in transit
)

type process struct {
	life     life
	trust    uint8      // ticks until the deadline; 0: the process does not trust its lease
	messages [2]message // in transit
}

type kind uint8

const (
	none kind = iota
	acquire
	renew
)

// message is a request, or the reply to it after the store has applied it. If the store refuses a request, the model
// sends no reply. That covers the worst case, in which the reply is lost.
type message struct {
	kind     kind
	answered bool
	age      uint8 // ticks since the request was sent, at most TTL
}

// DoubleHold reports a violation of S4: both processes trust their leases at the same time.
func (s LeaseState) DoubleHold() bool { return s.processes[0].trust > 0 && s.processes[1].trust > 0 }

// Start returns a name that was never granted.
func (m Lease) Start() LeaseState { return LeaseState{} }

// Next adds the steps of the clocks, the store, the network and each process.
func (m Lease) Next(s LeaseState, add func(Step, LeaseState)) {
	add(Step{"the clocks", "tick"}, m.tick(s))
	m.serverSteps(s, add)
	for i := range s.processes {
		m.processSteps(s, i, add)
		for j := range s.processes[i].messages {
			m.messageSteps(s, i, j, add)
		}
	}
}

func (m Lease) tick(s LeaseState) LeaseState {
	down := func(n *uint8) { *n -= min(*n, 1) }
	down(&s.row.left)
	down(&s.replica.left)
	down(&s.closed)
	for i := range s.processes {
		p := &s.processes[i]
		down(&p.trust)
		if p.life == trusting && p.trust == 0 && !m.ExpiryRevives {
			p.life = lost
		}
		for j := range p.messages {
			if msg := &p.messages[j]; msg.kind != none {
				msg.age = min(msg.age+1, m.TTL)
			}
		}
	}
	return s
}

// serverSteps adds the steps that the store takes by itself.
func (m Lease) serverSteps(s LeaseState, add func(Step, LeaseState)) {
	if m.ClockStep > 0 && !s.stepped {
		to := s
		to.stepped = true
		for _, left := range []*uint8{&to.row.left, &to.replica.left, &to.closed} {
			*left -= min(*left, m.ClockStep)
		}
		add(Step{"the store's clock", "is set forward"}, to)
	}
	if m.Failover && s.row != s.replica {
		to := s
		to.replica = s.row
		add(Step{"the replica", "catches up"}, to)
	}
	if m.Failover {
		to := s
		to.row, to.closed = s.replica, m.Quarantine
		add(Step{"the store", "fails over to the replica"}, to)
	}
}
