package model

// Seal is how a new holder raises the mark of the resource before its first read.
type Seal uint8

// The ways to seal.
const (
	NoSeal     Seal = iota
	SealNewer       // if its token is newer than the mark: what package fence does
	SealEqual       // if its token is newer than the mark or equal to it
	SealAlways      // without comparing
	SealClaim       // without a token of its own: see claimSteps
)

// Check is how a transaction that writes compares its token with the mark.
type Check uint8

// The ways to check.
const (
	NoCheck      Check = iota
	CheckAtLeast       // not older than the mark, which it raises if newer
	CheckSealed        // the very grant that sealed, by its nonce
)

// Fence is the model of clients that read a value and write a new one in its place, under a lease
// that may expire at any moment without its holder noticing. Its zero value has no fence at all.
type Fence struct {
	Clients int // at most 3; each is granted the lease once at most
	Writes  int // of each, one after the other

	Seal      Seal
	SealLate  bool // after the first read, not before it
	Unsealed  int  // so many of the clients, the last ones, do not seal
	Check     Check
	NotHeld   bool // the mark can change between a transaction's check and its commit
	ReadRaise bool // each read raises the mark to the reader's token, and refuses an older one

	Shared     bool // the lease store does not exclude: it grants while others hold
	ProveFirst bool // a claim proves its lease before it has the mark locked, not after
	Reclaims   bool // a client that was overtaken claims again, and goes on with what it has read

	Failovers int  // of the lease store, each of which loses the last grant
	Floor     bool // tokens are larger than all before, also than those that were lost
}

// phase is how far a client has come.
type phase uint8

const (
	idle    phase = iota
	granted       // and not sealed yet
	asked         // its claim has proven the lease, and not locked the mark yet
	locked        // its claim has the mark locked
	sure          // and has proven its lease
	peeked        // has read before it seals
	ready         // may read
	writing       // its write is on the way
	checked       // its write's transaction is open
	over
)

// FenceState is one moment of a [Fence].
type FenceState struct {
	counter   uint8 // the last token that the lease store remembers
	largest   uint8 // token ever granted
	failovers uint8

	mark     uint8 // token of the resource's mark
	markedBy uint8 // and the client whose nonce is there
	value    uint8 // how many writes there were: what a read returns
	last     write // to the resource
	lost     bool  // the last write replaced a value that its writer had not read
	fell     bool  // the last write's grant is older than that before it, or another of the same token

	clients [3]fenceClient
}

type fenceClient struct {
	phase  phase
	holds  bool // as the lease store knows
	token  uint8
	read   uint8
	writes uint8
}

type write struct {
	token uint8
	by    uint8
}

// TokensFell is a broken S5: in the order of the writes, tokens never decrease, and each belongs to
// one grant.
func (s FenceState) TokensFell() bool { return s.fell }

// UpdateLost is a broken S5': each write replaces the value that its writer has read.
func (s FenceState) UpdateLost() bool { return s.lost }

// Writes is how many were committed.
func (s FenceState) Writes() int { return int(s.value) }

// Start is a resource that was never written.
func (m Fence) Start() FenceState { return FenceState{} }

// Next is what the lease store and each client may do.
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

// grants says whether the lease store grants now.
func (m Fence) grants(s FenceState) bool {
	for _, c := range s.clients {
		if c.holds && !m.Shared {
			return false
		}
	}
	return true
}
