package model

import (
	"fmt"
	"strings"
)

// Shares models two readers and two writers of one name, the lease store, and the fence of a resource. A share is the
// lease of a reader. An epoch is a time in which the name is held by readers. All shares of an epoch have the same
// token. Leases expire at any moment, and their holders never notice. Requests arrive late and several times, and
// replies are lost. Each field except Tokens turns on a variant of the protocol. With all of them off, Shares models
// the protocol as it is.
type Shares struct {
	Tokens uint8 // the largest token that the store grants, so that the search ends

	BesideWriter bool // variant: the store grants shares while a writer holds the name
	BesideReader bool // variant: the store grants the name to a writer while readers hold it
	EndsWithOne  bool // variant: the end of one share frees the name
	ForceLeaves  bool // variant: a forced release frees the name, but its shares stay valid
	OwnTokens    bool // variant: each share has a token of its own
	OldEpoch     bool // variant: an epoch gets no new token, but the token of the previous writer
	SameToken    bool // variant: a writer gets no new token, but the token of the previous epoch
	// variant: a reader that requests the name again gets its earlier token, even if a writer has held the name since
	RejoinsOld bool

	OwnNonces bool // variant: a reader seals with its own nonce instead of the nonce of the epoch
	NoSeal    bool // variant: readers do not seal, and a token that is not older than the mark passes the check
	NotHeld   bool // variant: the mark can change between a transaction's check and its commit
}

const (
	readers = 2
	parties = 4 // the first two are readers, the others are writers
	epoch   = parties
)

var partyNames = [parties]string{"R1", "R2", "W1", "W2"}

// SharesState is one state of a [Shares].
type SharesState struct {
	token  uint8          // the newest token
	writer uint8          // the writer that holds the name, plus one; 0 if there is none
	shared bool           // the row says that readers hold the name
	live   [readers]uint8 // the token of each live share; 0 if there is none
	forced bool           // the operator has made its forced release

	lastWriter uint8 // the largest token of a writer
	lastEpoch  uint8 // the largest token of an epoch
	disorder   bool  // a grant has broken the order of the tokens

	mark uint8 // the token of the mark
	// whose nonce is in the mark: the index of a party, or the constant epoch for the nonce that all readers share
	markedBy uint8
	value    uint8 // the number of writes
	stale    bool  // an access was committed after a newer holder had sealed
	torn     bool  // a reader has read two values under one lease
	lost     bool  // a writer has replaced a value that it had not read

	parties [parties]party
}

type party struct {
	phase phase
	token uint8
	read  uint8
	began bool // the party has read once
	twice bool // a reader has read twice
}

// WriterBesideReader reports whether a writer holds the name in the store while a share is live.
func (s SharesState) WriterBesideReader() bool {
	return s.writer > 0 && (s.live[0] > 0 || s.live[1] > 0)
}

// TokensWrong reports a violation of one of these rules. Shares that are live at the same time have the same token. The
// token of an epoch is larger than the token of each earlier writer. The token of a writer is larger than all earlier
// tokens.
func (s SharesState) TokensWrong() bool {
	return s.disorder || s.live[0] > 0 && s.live[1] > 0 && s.live[0] != s.live[1]
}

// StalePassed reports whether an access was committed after a newer holder had sealed.
func (s SharesState) StalePassed() bool { return s.stale }

// ReadTorn reports whether a reader has read two values under one lease.
func (s SharesState) ReadTorn() bool { return s.torn }

// UpdateLost reports a violation of S5' by a writer.
func (s SharesState) UpdateLost() bool { return s.lost }

// BothRead reports whether both readers have read twice with the same token.
func (s SharesState) BothRead() bool {
	a, b := s.parties[0], s.parties[1]
	return a.twice && b.twice && a.token == b.token
}

// Start returns a name that was never granted.
func (m Shares) Start() SharesState { return SharesState{} }

// Next adds the steps of the store, the operator and each party.
func (m Shares) Next(s SharesState, add func(Step, SharesState)) {
	m.storeSteps(s, add)
	for i := range parties {
		m.arrives(s, i, add)
		m.works(s, i, add)
	}
}

func (m Shares) storeSteps(s SharesState, add func(Step, SharesState)) {
	if s.writer > 0 {
		to := s
		to.writer = 0
		add(Step{"the lease of " + partyNames[s.writer-1], "expires"}, to)
	}
	for i, token := range s.live {
		if token == 0 {
			continue
		}
		to := s
		to.live[i] = 0
		to.shared = s.shared && to.live[1-i] > 0 && !m.EndsWithOne
		add(Step{"the share of " + partyNames[i], "expires"}, to)
	}
	if !s.forced && (s.writer > 0 || s.shared) && s.token < m.Tokens {
		to := s
		to.forced, to.writer, to.shared = true, 0, false
		to.token++
		if !m.ForceLeaves {
			to.live = [readers]uint8{}
		}
		add(Step{"the operator", "releases the name by force"}, to)
	}
}

// arrives adds the arrivals of a request of party i at the store. A request arrives any number of times, also after its
// sender has a reply. The first reply that is not lost counts.
func (m Shares) arrives(s SharesState, i int, add func(Step, SharesState)) {
	to := s
	token, ok := m.grant(&to, i)
	if !ok {
		return
	}
	if p := &to.parties[i]; p.phase == idle {
		add(Step{partyNames[i], "is granted the name, and the reply is lost"}, to)
		p.phase, p.token = ready, token
		if m.sealing(i) {
			p.phase = granted
		}
		add(Step{partyNames[i], "is granted the name"}, to)
		return
	}
	add(Step{partyNames[i], "is granted the name again by an old request"}, to)
}

// sealing reports whether party i seals before its first access.
func (m Shares) sealing(i int) bool { return i >= readers || !m.NoSeal }

// grant lets the store decide about a request of party i, and returns the token.
func (m Shares) grant(to *SharesState, i int) (token uint8, ok bool) {
	if i >= readers {
		return m.grantWriter(to, i)
	}
	if to.writer > 0 && !m.BesideWriter {
		return 0, false
	}
	again := to.live[i] > 0
	switch old := to.parties[i].token; {
	case again:
		token = to.live[i]
	case m.RejoinsOld && old > 0:
		token = old
	case to.shared && !m.OwnTokens:
		token = to.token
	case m.OldEpoch && to.lastWriter > 0:
		token = to.lastWriter
	case to.token == m.Tokens:
		return 0, false
	default:
		to.token++
		token = to.token
	}
	to.disorder = to.disorder || token <= to.lastWriter
	to.live[i], to.shared = token, true
	to.lastEpoch = max(to.lastEpoch, token)
	return token, true
}

func (m Shares) grantWriter(to *SharesState, i int) (token uint8, ok bool) {
	switch {
	case to.writer == uint8(i)+1:
		return to.lastWriter, true
	case to.writer > 0, to.shared && !m.BesideReader:
		return 0, false
	case m.SameToken && to.lastEpoch > to.lastWriter:
		token = to.lastEpoch
	case to.token == m.Tokens:
		return 0, false
	default:
		to.token++
		token = to.token
	}
	to.disorder = to.disorder || token <= max(to.lastWriter, to.lastEpoch)
	to.writer, to.lastWriter = uint8(i)+1, token
	return token, true
}

// works adds the steps of party i after its grant. A reader reads twice, in two transactions. A writer reads, and
// replaces the value in a transaction.
func (m Shares) works(s SharesState, i int, add func(Step, SharesState)) {
	to := s
	p := &to.parties[i]
	do := func(what string) { add(Step{partyNames[i], what}, to) }
	switch p.phase {
	case granted:
		m.sealBy(&to, i, do)
	case ready:
		if i >= readers && !p.began {
			p.began, p.read = true, s.value
			do("reads the value")
			return
		}
		if !m.passes(s, i) {
			p.phase = over
			do("has its access rejected")
			return
		}
		p.phase = checked
		do("begins its access, which passes the check")
	case checked:
		to.stale = s.stale || p.token < s.mark
		m.commit(&to, i)
		do("commits its access")
	}
}

// nonce returns the nonce with which party i seals.
func (m Shares) nonce(i int) uint8 {
	if i < readers && !m.OwnNonces {
		return epoch
	}
	return uint8(i)
}

func (m Shares) sealBy(to *SharesState, i int, do func(string)) {
	p := &to.parties[i]
	switch {
	case p.token == to.mark && m.nonce(i) == to.markedBy:
		p.phase = ready
		do("finds the seal of its epoch")
	case p.token <= to.mark:
		p.phase = over
		do("has its seal rejected")
	default:
		for j, other := range to.parties {
			if j != i && other.phase == checked && !m.NotHeld {
				return // the transaction has locked the mark
			}
		}
		to.mark, to.markedBy = p.token, m.nonce(i)
		p.phase = ready
		do("seals")
	}
}

// passes reports whether an access of party i that begins now passes the check.
func (m Shares) passes(s SharesState, i int) bool {
	if !m.sealing(i) {
		return s.parties[i].token >= s.mark
	}
	return s.mark == s.parties[i].token && s.markedBy == m.nonce(i)
}

func (m Shares) commit(to *SharesState, i int) {
	p := &to.parties[i]
	p.phase = ready
	switch {
	case i >= readers:
		to.lost = to.lost || p.read != to.value
		to.value++
		p.phase = over
	case p.began:
		to.torn = to.torn || p.read != to.value
		p.phase, p.twice = over, true
	default:
		p.began, p.read = true, to.value
	}
}

// String returns the holders in the store, the mark, the value, and the token of each party.
func (s SharesState) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "token %d", s.token)
	if s.writer > 0 {
		fmt.Fprintf(&b, " of %s", partyNames[s.writer-1])
	}
	for i, token := range s.live {
		if token > 0 {
			fmt.Fprintf(&b, ", share of %s with token %d", partyNames[i], token)
		}
	}
	fmt.Fprintf(&b, "; mark %d, value %d", s.mark, s.value)
	for i, p := range s.parties {
		if p.phase != idle {
			fmt.Fprintf(&b, "; %s token %d", partyNames[i], p.token)
		}
	}
	return b.String()
}
