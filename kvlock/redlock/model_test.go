package redlock

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
)

// tokenModel models the tokens of one lock under random schedules. Messages arrive late, in any order, or never. Leases
// end at any moment. Clients give up, retry with the same nonce, and may hold the lock at the same time. The model's
// only clock is Clock. It makes tokens with the backend's functions, and stores them as the backend's scripts do.
type tokenModel struct {
	Nodes int
	Naive string // a wrong method of making tokens, as a control: "incr of one node", "max of incr", "unconfirmed"

	Forgets   bool    // a node deletes a lock when it is released (real nodes do so five minutes later)
	Amnesia   float64 // probability that a node loses all data in a step
	Together  bool    // a majority may lose its data at the same time
	Vetted    bool    // a node that lost its data does not vote until it has received the largest token of the other nodes
	Clock     int     // by how many units the nodes' clock advances in each step; 0: tokens do not use the clock
	ClockSkew int     // by how many units a node's clock may be ahead or behind
}

type modelNode struct {
	holder                int // nonce; 0: no holder
	confirmed, token, top driver.Token
	least, prior, floor   driver.Token
	skew                  int
	known, forgetful      bool
	since                 int // the step at which the node lost its data
}

// try is one attempt of a client to acquire the lock.
type try struct {
	nonce, began int
	votes        []vote
	token, floor driver.Token
	proposed     driver.Token
	nodes        map[int]bool // nodes that have confirmed token
	active       bool
	granted      bool
}

type modelMessage struct {
	kind string // vote, confirm, release, admit
	node int
	try  *try
}

type granted struct {
	token        driver.Token
	began, ended int
}

// play runs one schedule with the given number of steps. It returns the number of grants, the number of tokens that
// were granted twice, and the number of grants that step back. A grant steps back if its token is not larger than the
// token of a grant that was made before the request began.
func (m tokenModel) play(rng *rand.Rand, steps int) (grants, twice, back int) {
	nodes := make([]modelNode, m.Nodes)
	for i := range nodes {
		nodes[i].skew = rng.IntN(2*m.ClockSkew+1) - m.ClockSkew
	}
	q := m.Nodes/2 + 1
	clients := make([]*try, 3)
	largest := make([]driver.Token, len(clients)) // the largest token that each client has seen
	var messages []modelMessage
	var all []granted
	seen := make(map[driver.Token]bool)
	nonces := 0

	send := func(kind string, t *try) {
		for i := range nodes {
			if rng.IntN(10) > 0 { // one message of ten is lost
				messages = append(messages, modelMessage{kind, i, t})
			}
		}
	}
	begin := func(c, now, nonce int) {
		clients[c] = &try{nonce: nonce, began: now, active: true, proposed: m.propose(rng, now, largest[c]), nodes: make(map[int]bool)}
		send("vote", clients[c])
	}
	settle := func(t *try, now int) {
		t.active, t.granted = false, true
		all = append(all, granted{t.token, t.began, now})
		if seen[t.token] {
			twice++
		}
		seen[t.token] = true
	}
	oldestActive := func(now int) int {
		oldest := now
		for _, t := range clients {
			if t != nil && t.active {
				oldest = min(oldest, t.began)
			}
		}
		return oldest
	}
	for now := 1; now <= steps; now++ {
		switch r := rng.Float64(); {
		case r < m.Amnesia:
			n := &nodes[rng.IntN(len(nodes))]
			if m.Together || forgetful(nodes) < m.Nodes-q {
				*n = modelNode{skew: n.skew, forgetful: m.Vetted, since: now}
			}
		case r < m.Amnesia+0.01: // a lease ends
			nodes[rng.IntN(len(nodes))].holder = 0
		case r < m.Amnesia+0.1 || len(messages) == 0: // a client acts
			c := rng.IntN(len(clients))
			switch t := clients[c]; {
			case t == nil || !t.active && rng.IntN(2) == 0:
				nonces++
				begin(c, now, nonces)
			case t.active && rng.IntN(3) == 0: // the client gives up, and retries at once with the same nonce
				t.active = false
				begin(c, now, t.nonce)
			default: // the client gives up or releases
				t.active = false
				send("release", t)
			}
		default:
			i := rng.IntN(len(messages))
			msg := messages[i]
			messages[i] = messages[len(messages)-1]
			messages = messages[:len(messages)-1]
			n, t := &nodes[msg.node], msg.try
			switch msg.kind {
			case "vote":
				v := m.vote(n, msg.node, t, now, oldestActive(now))
				if !t.active {
					break
				}
				for c := range clients {
					if clients[c] == t {
						largest[c] = max(largest[c], v.top)
					}
				}
				t.votes = append(t.votes, v)
				if t.token == 0 && count(t.votes, vote.granted) >= q {
					t.token = m.mint(t.votes)
					if m.Naive != "" {
						settle(t, now)
					}
					for _, v := range t.votes {
						if v.granted() && v.confirmed == t.token { // the node confirmed the token with its vote
							t.nodes[int(v.since)] = true
						}
					}
					if m.Naive == "" && len(t.nodes) >= q {
						settle(t, now)
					}
					send("confirm", t)
				} else if t.token > 0 && v.granted() && v.confirmed == t.token && m.Naive == "" {
					if t.nodes[msg.node] = true; len(t.nodes) == q {
						settle(t, now)
					}
				}
				if enoughToAdmit(t.votes, m.Nodes) {
					t.floor = max(t.floor, floor(t.votes))
					for _, v := range t.votes {
						if v.ready() {
							messages = append(messages, modelMessage{"admit", int(v.since), t})
						}
					}
				}
			case "confirm":
				if confirmAt(n, t) && t.active && !t.nodes[msg.node] {
					if t.nodes[msg.node] = true; len(t.nodes) == q {
						settle(t, now)
					}
				}
			case "admit":
				if n.forgetful && m.over(n, t, oldestActive(now)) {
					n.forgetful = false
					n.top = max(n.top, t.floor)
					n.floor = n.top
				}
			case "release":
				if n.holder == t.nonce {
					n.holder = 0
					if !t.granted {
						n.token = n.prior // a failed attempt restores the prior token
					}
					if m.Forgets {
						n.known, n.token, n.confirmed = false, 0, 0
					}
				}
			}
		}
	}
	for i, g := range all {
		for _, before := range all[:i] {
			if before.ended < g.began && before.token >= g.token {
				back++
				break
			}
		}
	}
	return len(all), twice, back
}

// vote models the acquire script.
func (m tokenModel) vote(n *modelNode, at int, t *try, now, oldest int) vote {
	if n.forgetful {
		if m.over(n, t, oldest) {
			return vote{verdict: "ready", top: n.top, since: time.Duration(at)}
		}
		return vote{verdict: "closed", top: n.top}
	}
	if n.holder != 0 && n.holder != t.nonce {
		return vote{verdict: "leased", top: n.top}
	}
	if !n.known {
		n.known, n.least = true, n.top
	}
	created := n.holder != t.nonce
	if created {
		n.holder, n.confirmed, n.prior = t.nonce, 0, n.token
	}
	if near := m.Clock == 0 || abs(int(t.proposed)-(1000+m.Clock*now+n.skew)) < m.near(); created && t.proposed > max(n.token, n.least, n.floor) && near {
		n.token, n.confirmed, n.top = t.proposed, t.proposed, max(n.top, t.proposed)
	}
	if m.Naive == "incr of one node" || m.Naive == "max of incr" {
		n.top++
	}
	v := vote{verdict: "granted", confirmed: n.confirmed, last: max(n.token, n.least), top: n.top, since: time.Duration(at)}
	if m.Clock > 0 {
		v.time = driver.Token(1000 + m.Clock*now + n.skew)
	}
	return v
}

// propose returns the token that nodes may confirm with their votes. It returns zero if there is no proposal. Otherwise
// it makes the token from the client's clock and the tokens that the client has seen.
func (m tokenModel) propose(rng *rand.Rand, now int, largest driver.Token) driver.Token {
	if m.Naive != "" || rng.IntN(3) == 0 {
		return 0
	}
	guess := driver.Token(1 + rng.IntN(int(largest)+3)) // may be too small, like the proposal of a client that has seen few tokens
	if m.Clock > 0 {
		guess = max(guess, driver.Token(1000+m.Clock*now+rng.IntN(2*m.ClockSkew+1)-m.ClockSkew))
	}
	return guess
}

// near returns by how many units a proposed token may differ from the clock of a node. The result is smaller than a
// quarantine.
func (m tokenModel) near() int { return max(m.Clock/4, m.ClockSkew) }

func abs(n int) int { return max(n, -n) }

// over reports whether the quarantine of n is over for the request t. In the model, the quarantine is over if n lost
// its data before the request t began, and before all other running requests began.
func (m tokenModel) over(n *modelNode, t *try, oldest int) bool {
	return n.since < oldest && n.since < t.began
}

func forgetful(nodes []modelNode) int {
	count := 0
	for _, n := range nodes {
		if n.forgetful {
			count++
		}
	}
	return count
}

func (m tokenModel) mint(votes []vote) driver.Token {
	switch m.Naive {
	case "incr of one node":
		for _, v := range votes {
			if v.granted() {
				return v.top
			}
		}
	case "max of incr":
		return floor(votes)
	}
	return (&Backend{nodes: make([]*node, m.Nodes)}).mint(votes)
}

// confirmAt models the confirm script. It reports whether the node confirms the token of t.
func confirmAt(n *modelNode, t *try) bool {
	switch {
	case n.holder != t.nonce:
		return false
	case n.confirmed == t.token:
		return true
	case t.token <= max(n.token, n.least, n.floor):
		return false
	}
	n.token, n.confirmed, n.top = t.token, t.token, max(n.top, t.token)
	return true
}

// run plays many schedules, and adds up the counts of play. The result bad is the number of schedules with a token that
// was granted twice or a grant that stepped back.
func (m tokenModel) run(seed uint64, runs int) (grants, twice, back, bad int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for range runs {
		g, t, b := m.play(rng, modelSteps)
		grants, twice, back = grants+g, twice+t, back+b
		if t+b > 0 {
			bad++
		}
	}
	return grants, twice, back, bad
}

const (
	modelSteps = 400
	million    = 2500 // this many runs have a million steps in total
)

// As long as no node loses data, each token is granted once and tokens rise, for any order of messages and ends of
// leases. The same holds if a minority loses data and votes only after it has received the other nodes' largest token.
// Each variant of the model that lacks a part of the method fails. docs/redlock.md says how often.
func TestTokenModel(t *testing.T) {
	t.Parallel()
	checkTokenModel(t, false)
}

// TestCompatTokenModel does the same as TestTokenModel, with all runs of the table in docs/redlock.md.
func TestCompatTokenModel(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	checkTokenModel(t, true)
}

// checkTokenModel plays the schedules of the table in docs/redlock.md. If all is false, it plays only a tenth of those
// schedules that take longest.
func checkTokenModel(t *testing.T, all bool) {
	t.Helper()
	page, err := os.ReadFile("../../docs/redlock.md")
	require.NoError(t, err)
	random := rand.Uint64()
	t.Logf("random seed %d", random)
	for _, c := range []struct {
		name  string
		model tokenModel
		runs  int
		holds bool
	}{
		{"two rounds", tokenModel{}, million, true}, // this many runs for each number of nodes
		{"two rounds, the nodes' clocks differ", tokenModel{Clock: 1, ClockSkew: 200}, million / 4, true},
		{"two rounds, released locks are forgotten", tokenModel{Forgets: true}, million / 4, true},
		{"a minority forgets, waits, and gets the largest token", tokenModel{Amnesia: 0.01, Vetted: true}, million / 4, true},
		{"a majority forgets, waits, clocks agree", tokenModel{Amnesia: 0.01, Vetted: true, Together: true, Clock: 100}, million / 4, true},

		{"a majority forgets, waits, no clocks", tokenModel{Amnesia: 0.01, Vetted: true, Together: true}, 4 * million, false},
		{"a minority forgets, and votes at once", tokenModel{Amnesia: 0.01}, million / 4, false},
		{"control: a counter of one node", tokenModel{Naive: "incr of one node"}, million / 4, false},
		{"control: the largest counter of a majority", tokenModel{Naive: "max of incr"}, million / 4, false},
		{"control: largest plus one, not confirmed", tokenModel{Naive: "unconfirmed"}, million / 4, false},
	} {
		row := "| " + c.name + " |"
		for _, size := range []int{3, 5} {
			c.model.Nodes = size
			runs, whole := c.runs, true
			if !all && runs >= million {
				runs, whole = runs/10, false
			}
			for _, seed := range []uint64{1, random} {
				runs := runs
				if seed == random {
					runs /= 5
				}
				grants, twice, back, bad := c.model.run(seed, runs)
				t.Logf("%s, %d nodes, seed %d: %d grants; %d tokens twice, %d not larger; %d of %d runs bad", c.name, size, seed, grants, twice, back, bad, runs)
				assert.Greater(t, grants, runs, "too few locks were granted")
				if seed == 1 {
					row += fmt.Sprintf(" %d of %d |", bad, runs)
				}
				if c.holds || seed == 1 && (whole || size == 3) { // with five nodes, a tenth of the schedules may contain no bad one
					assert.Equal(t, c.holds, bad == 0, "%s, %d nodes, seed %d", c.name, size, seed)
				}
			}
		}
		if all || c.runs < million {
			assert.Contains(t, string(page), row)
		}
	}
}
