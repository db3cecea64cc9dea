package model

// Seal is the rule by which a new holder raises the mark of the resource before its first read.
type Seal uint8

// These are the rules for sealing.
const (
	NoSeal     Seal = iota
	SealNewer       // raise the mark only if the holder's token is larger, as package fence does
	SealEqual       // raise the mark if the holder's token is larger or equal
	SealAlways      // without comparing
	SealClaim       // let the resource make the token: see claimSteps
)

// Check is the rule by which a writing transaction compares its token with the mark.
type Check uint8

// These are the rules for checking.
const (
	NoCheck      Check = iota
	CheckAtLeast       // the token must not be smaller than the mark; a larger token raises the mark
	CheckSealed        // the mark must have the nonce of the writer's grant, which only a seal stores there
)

// Fence models clients that read a value and replace it, under a lease that may expire at any moment without the
// holder's knowledge. In the zero value of Fence, no client seals and no write is checked.
type Fence struct {
	Clients int // the number of clients, at most 3; each is granted the lease at most once
	Writes  int // the number of writes of each client, one after the other

	Seal      Seal
	SealLate  bool // clients seal after the first read instead of before it
	Unsealed  int  // this many clients, the ones with the highest index, do not seal
	Check     Check
	NotHeld   bool // the mark can change between a transaction's check and its commit
	ReadRaise bool // each read raises the mark to the reader's token, and is rejected if the token is smaller

	Shared     bool // the lease store does not exclude, so several clients can hold the lease at the same time
	ProveFirst bool // a claim proves its lease before it locks the mark, instead of afterwards
	Reclaims   bool // a client whose claim was replaced by another claim claims again, but does not read again

	Failovers int  // the number of failovers of the lease store; each loses the last grant
	Floor     bool // after a failover, new tokens are larger than all earlier tokens, including those of lost grants
}

// phase is the progress of a client.
type phase uint8

const (
	idle    phase = iota
	granted       // not sealed yet
	asked         // its claim has proven the lease, and must still lock the mark
	locked        // its claim has locked the mark, and must still prove the lease
	sure          // its claim has locked the mark and proven the lease
	peeked        // it has read before sealing
	ready         // may read
	writing       // its write is in transit
	checked       // the transaction of its write is open
	over
)

// FenceState is one state of a [Fence].
type FenceState struct {
	counter   uint8 // the last token that the lease store remembers
	largest   uint8 // the largest token ever granted
	failovers uint8

	mark     uint8 // the token of the mark
	markedBy uint8 // the client whose nonce is in the mark
	value    uint8 // the number of writes, which a read returns
	last     write // the last write to the resource
	lost     bool  // the last write replaced a value that its writer had not read
	fell     bool  // the last write has a smaller token than the write before it, or the same token from another grant

	clients [3]fenceClient
}

type fenceClient struct {
	phase  phase
	holds  bool // the client holds the lease according to the lease store
	token  uint8
	read   uint8
	writes uint8
}

type write struct {
	token uint8
	by    uint8
}

// TokensFell reports a violation of S5. S5 says that tokens never decrease in the order of the writes, and that each
// token belongs to one grant.
func (s FenceState) TokensFell() bool { return s.fell }

// UpdateLost reports a violation of S5'. S5' says that each write replaces the value that its writer has read.
func (s FenceState) UpdateLost() bool { return s.lost }

// Writes returns the number of committed writes.
func (s FenceState) Writes() int { return int(s.value) }

// Start returns a resource without writes.
func (m Fence) Start() FenceState { return FenceState{} }

// Next adds every step that the lease store and each client can take.
func (m Fence) Next(s FenceState, add func(Step, FenceState)) {
	m.storeSteps(s, add)
	for i := range m.Clients {
		m.clientSteps(s, i, add)
	}
}

func (m Fence) storeSteps(s FenceState, add func(Step, FenceState)) {
	for i, c := range s.clients {
		if c.holds {
			to := s
			to.clients[i].holds = false
			add(Step{"the lease of " + names[i], "expires"}, to)
		}
	}
	if int(s.failovers) < m.Failovers && s.counter > 0 {
		to := s
		for i := range to.clients {
			to.clients[i].holds = false
		}
		to.counter--
		to.failovers++
		add(Step{"the store", "loses the last grant in a failover"}, to)
	}
}

// grants reports whether the lease store can grant now.
func (m Fence) grants(s FenceState) bool {
	for _, c := range s.clients {
		if c.holds && !m.Shared {
			return false
		}
	}
	return true
}
