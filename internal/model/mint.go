package model

import "fmt"

// Mint models the tokens of package mysqlock. Two servers, of which one is the primary, count numbers in their memory.
// A number consists of the second in which the server was started, and of a count. One row says how a token is made from
// a number, and which tokens are reserved. A session reads the row once, when it connects. Each grant takes a number
// while the lock is held. The clock can be set before each start, so a run may begin in any second. Other programs also
// take numbers.
type Mint struct {
	Grants, Starts, Failovers, Restores, Others uint8 // how often each of these steps can happen

	Block   uint16 // how many tokens one write of the row reserves
	Advance uint16 // how many numbers a run takes before its first token
	Clock   bool   // a run also begins above the clock, and the clock is ahead of all tokens

	Lag       bool // a crash of the primary can lose the last change of the row in the failover
	RunOnly   bool // variant: a session recognises its run by the server and the second only, and not by the count
	CountOnly bool // variant: a session recognises its run by the number only, and not by the server and the second
	Unchecked bool // variant: a session grants tokens that are not reserved
	Rebased   bool // variant: another run begins above the first token of the run before, and not above the reserved ones
	Early     bool // variant: the number of a grant is taken when its statement begins to wait for the lock
	Unnoticed bool // variant: the sessions of a primary outlast a failover, and grant again when it is the primary again
}

// perSecond is the number of counts that the second of a start is worth.
const perSecond = 32

// mintRow is the row. The run of the zero value is none.
type mintRow struct {
	server, second          uint8
	number, token, reserved uint16
}

type mintServer struct {
	second uint8
	count  uint16
	row    mintRow
}

type mintSession struct {
	connected bool
	server    uint8
	row       mintRow // as the session has read it
	waits     bool
	number    uint16 // taken when its statement began to wait
}

// MintState is one state of a [Mint].
type MintState struct {
	servers  [2]mintServer
	primary  uint8
	backup   mintRow
	sessions [2]mintSession
	last     uint16 // the largest token that was granted
	fell     bool   // a grant's token was not larger than all earlier ones

	grants, starts, failovers, restores, others uint8
}

// TokensFell reports that a grant's token is not larger than those of all earlier grants.
func (s MintState) TokensFell() bool { return s.fell }

// String returns the primary, its row, and the last token.
func (s MintState) String() string {
	p := s.servers[s.primary]
	return fmt.Sprintf("server %d started in second %d, count %d; row: run %d/%d, token %d at %d, reserved %d; last token %d",
		s.primary+1, p.second, p.count, p.row.server, p.row.second, p.row.token, p.row.number, p.row.reserved, s.last)
}

// Start returns two servers, which were started in the seconds 2 and 1. No token was granted.
func (m Mint) Start() MintState {
	return MintState{servers: [2]mintServer{{second: 2}, {second: 1}}}
}

// Next adds the steps of the servers and of the sessions.
func (m Mint) Next(s MintState, add func(Step, MintState)) {
	m.storeSteps(s, add)
	for i, se := range s.sessions {
		who := names[i]
		if se.connected && se.server != s.primary {
			continue
		}
		if !se.connected {
			to := s
			m.connect(&to, i)
			add(Step{who, "connects"}, to)
			continue
		}
		if m.Early && !se.waits {
			to := s
			to.sessions[i].waits, to.sessions[i].number = true, to.take()
			add(Step{who, "begins to wait for the lock"}, to)
		}
		if s.grants < m.Grants && (!m.Early || se.waits) {
			to := s
			to.grants++
			m.grant(&to, i)
			add(Step{who, "is granted the lock"}, to)
		}
	}
}

func (m Mint) storeSteps(s MintState, add func(Step, MintState)) {
	if s.others < m.Others {
		to := s
		to.others++
		to.take()
		add(Step{"another program", "takes a number"}, to)
	}
	if s.starts < m.Starts {
		s.restart(s.primary, func(second uint8, to MintState) {
			to.starts++
			to.disconnect()
			add(Step{"the primary", fmt.Sprint("starts again in second ", second)}, to)
		})
	}
	if replica := 1 - s.primary; s.servers[replica].row != s.servers[s.primary].row {
		to := s
		to.servers[replica].row = s.servers[s.primary].row
		add(Step{"the replica", "catches up"}, to)
	}
	if s.failovers < m.Failovers {
		m.failover(s, add)
	}
	if s.restores < m.Restores {
		saved := s
		saved.backup = s.servers[s.primary].row
		if saved != s {
			add(Step{"the operator", "makes a backup"}, saved)
		}
		s.restart(s.primary, func(_ uint8, to MintState) {
			to.restores++
			to.servers[s.primary].row = s.backup
			to.disconnect()
			add(Step{"the operator", "restores the backup, and starts the server again"}, to)
		})
	}
}

// failover adds the steps by which the replica becomes the primary. If it has not got the last change of the row, the old
// primary has crashed, and starts again before it serves again.
func (m Mint) failover(s MintState, add func(Step, MintState)) {
	served := func(to MintState) MintState {
		to.failovers++
		to.primary = 1 - s.primary
		if !m.Unnoticed {
			to.disconnect()
		}
		return to
	}
	switch {
	case s.servers[0].row == s.servers[1].row:
		add(Step{"the store", "fails over"}, served(s))
	case m.Lag:
		s.restart(s.primary, func(_ uint8, to MintState) {
			add(Step{"the store", "crashes and fails over, and loses a change"}, served(to))
		})
	}
}

// restart calls the function then for each second in which a server may start again.
func (s MintState) restart(server uint8, then func(uint8, MintState)) {
	for second := uint8(1); second <= 3; second++ {
		to := s
		to.servers[server].second, to.servers[server].count = second, 0
		then(second, to)
	}
}

func (s *MintState) disconnect() { s.sessions = [2]mintSession{} }

// take returns the next number of the primary.
func (s *MintState) take() uint16 {
	p := &s.servers[s.primary]
	p.count++
	return uint16(p.second)*perSecond + p.count
}

func (m Mint) serves(s *MintState, row mintRow, number uint16) bool {
	p := s.servers[s.primary]
	same := row.server == s.primary+1 && row.second == p.second
	switch {
	case m.RunOnly:
		return same
	case m.CountOnly:
		return row.server != 0 && row.number <= number
	default:
		return same && row.number <= number
	}
}

// connect lets session i read the row, and write it if the primary's run has made no token.
func (m Mint) connect(to *MintState, i int) {
	if row, number := to.servers[to.primary].row, to.take(); !m.serves(to, row, number) {
		m.reserve(to)
	}
	to.sessions[i] = mintSession{connected: true, server: to.primary, row: to.servers[to.primary].row}
}

// reserve writes the row. It returns a number of the primary that was taken while the row was locked.
func (m Mint) reserve(to *MintState) uint16 {
	p := &to.servers[to.primary]
	number := to.take()
	if m.serves(to, p.row, number) {
		p.row.reserved = max(p.row.reserved, p.row.token+number-p.row.number+m.Block)
		return number
	}
	p.count += m.Advance
	number = to.take()
	token := p.row.reserved + 1
	if m.Rebased {
		token = p.row.token + 1
	}
	if m.Clock {
		token = max(token, to.last+1)
	}
	p.row = mintRow{to.primary + 1, p.second, number, token, token + m.Block}
	return number
}

func (m Mint) grant(to *MintState, i int) {
	se := &to.sessions[i]
	number := se.number
	if !m.Early {
		number = to.take()
	}
	se.waits, se.number = false, 0
	token := se.row.token + number - se.row.number
	if token > se.row.reserved && !m.Unchecked {
		number = m.reserve(to)
		se.row = to.servers[to.primary].row
		token = se.row.token + number - se.row.number
	}
	to.fell = token <= to.last
	to.last = max(to.last, token)
}
