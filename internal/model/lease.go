package model

// Lease is the model of two processes that acquire, renew, lose and release a lease of TTL ticks
// from a store with a clock, over a network that delays and loses. All clocks tick together; only
// the store's may be set. Times are kept as what is left of them, so the model has no end of time.
type Lease struct {
	TTL      uint8 // in ticks
	Margin   uint8 // by which trust ends earlier
	Requests int   // of one process on the way at once, at most 2

	FromReply      bool // the deadline counts from the reply, not from before the request was sent
	ExpiryRevives  bool // a reply after the deadline revives the lease
	ReleaseRevives bool // a reply after the release revives the lease

	RenewAny     bool // the store renews whatever is alive, without comparing nonces
	RenewExpired bool // the store renews a grant that has expired and was not taken
	ReleaseAny   bool // the store releases whatever is there, without comparing nonces

	ClockStep  uint8 // the store's clock is once set forward by so many ticks
	Failover   bool  // to a replica that lags, any number of times
	Quarantine uint8 // ticks after a failover in which nothing is granted
}

// grant is who was granted last and what is left of it. After a release it is nobody's.
type grant struct {
	by   uint8 // 0 nobody, 1 and 2 the processes, 3 one that is no more
	left uint8
}

const gone = 3

// LeaseState is one moment of a [Lease].
type LeaseState struct {
	row, replica grant
	closed       uint8 // ticks of quarantine left
	stepped      bool
	processes    [2]process
}

// life is how far a process has come with one acquisition.
type life uint8

const (
	asleep   life = iota
	asking        // has sent an acquire, and may send it again
	trusting      // was told of the grant, and renews
	lost          // for good
	released      // for good; the release is on the way
)

type process struct {
	life     life
	trust    uint8      // ticks until the deadline; it believes while there are any
	messages [2]message // on the way
}

type kind uint8

const (
	none kind = iota
	acquire
	renew
)

// message is a request, or its reply if the store has done what was asked. A refusal is no message:
// to lose it is the worst that it can do.
type message struct {
	kind     kind
	answered bool
	age      uint8 // ticks since the request was sent, at most TTL
}

// DoubleHold is a broken S4: two processes believe at once that they hold the lease.
func (s LeaseState) DoubleHold() bool { return s.processes[0].trust > 0 && s.processes[1].trust > 0 }

// Start is a name that was never granted.
func (m Lease) Start() LeaseState { return LeaseState{} }

// Next is what time, the store, the network and each process may do.
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

// serverSteps are those of the store that nobody asked for.
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
