package model

// Lease models two processes that acquire, renew, lose and release a lease of TTL ticks. The store has a clock,
// and the network delays and loses messages. All clocks tick together, and only the store's clock may be set.
// The model stores only remaining times, so it covers runs of any length.
type Lease struct {
	TTL      uint8 // in ticks
	Margin   uint8 // how many ticks before the TTL a process stops trusting its lease
	Requests int   // the number of requests that one process can have in transit at the same time, at most 2

	FromReply      bool // the deadline counts from the reply, not from before the request was sent
	ExpiryRevives  bool // a reply after the deadline revives the lease
	ReleaseRevives bool // a reply after the release revives the lease

	RenewAny     bool // the store renews any live grant without comparing nonces
	RenewExpired bool // the store renews a grant that has expired and was not granted again
	ReleaseAny   bool // the store releases any grant without comparing nonces

	ClockStep  uint8 // the store fails over to a replica that lags behind, any number of times
	Failover   bool  // the number of ticks after a failover during which nothing is granted
	Quarantine uint8 // ticks after a failover during which nothing is granted
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
	trusting      // has received the grant, and renews
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

// message is a request, or the reply to it after the store has applied it. The model has no replies for refused
// requests, because a refusal whose reply is lost is the worst case.
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
