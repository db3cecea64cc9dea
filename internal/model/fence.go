package model

// Seal says how a new holder raises the mark of the resource before its first read.
type Seal uint8

// The methods of sealing.
const (
	NoSeal     Seal = iota
	SealNewer       // only if its token is larger than the mark, as package fence does
	SealEqual       // if its token is larger than the mark or equal to it
	SealAlways      // without comparing
	SealClaim       // without a token from the lease store: see claimSteps
)

// Check says how a writing transaction compares its token with the mark.
type Check uint8

// The methods of checking.
const (
	NoCheck      Check = iota
	CheckAtLeast       // the token is not smaller than the mark; a larger token raises the mark
	CheckSealed        // the grant has sealed the mark, by its nonce
)

// Fence models clients that read a value and replace it, under a lease that may expire at any moment without
// the holder's knowledge. Its zero value has no fence.
type Fence struct {
	Clients int // at most 3; each is granted the lease at most once
	Writes  int // of each client, one after the other

	Seal      Seal
	SealLate  bool // after the first read instead of before it
	Unsealed  int  // number of clients that do not seal: the last ones
	Check     Check
	NotHeld   bool // the mark can change between a transaction's check and its commit
	ReadRaise bool // each read raises the mark to the reader's token, and is rejected if the token is smaller

	Shared     bool // the lease store does not exclude: several clients hold at the same time
	ProveFirst bool // a claim proves its lease before it locks the mark, not afterwards
	Reclaims   bool // a client whose claim was replaced claims again, and uses its earlier read

	Failovers int  // of the lease store; each loses the last grant
	Floor     bool // tokens are larger than all earlier ones, including lost ones
}

// phase is the progress of a client.
type phase uint8

const (
	idle    phase = iota
	granted       // not sealed yet
	asked         // its claim has proven the lease, but has not locked the mark
	locked        // its claim has locked the mark
	sure          // and has then proven its lease
	peeked        // has read before sealing
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
	fell     bool  // the grant of the last write is older than that of the write before, or another grant with the same token

	clients [3]fenceClient
}

type fenceClient struct {
	phase  phase
	holds  bool // according to the lease store
	token  uint8
	read   uint8
	writes uint8
}

type write struct {
	token uint8
	by    uint8
}

// TokensFell reports a violation of S5: in the order of the writes, tokens never decrease, and each belongs
// to one grant.
func (s FenceState) TokensFell() bool { return s.fell }

// UpdateLost reports a violation of S5': each write replaces the value that its writer has read.
func (s FenceState) UpdateLost() bool { return s.lost }

// Writes returns the number of committed writes.
func (s FenceState) Writes() int { return int(s.value) }

// Start returns a resource without writes.
func (m Fence) Start() FenceState { return FenceState{} }

// Next adds what the lease store and each client may do.
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
