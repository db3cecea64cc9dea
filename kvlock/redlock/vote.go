package redlock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// vote is the answer of one node to an acquire request.
type vote struct {
	node    *node
	verdict string // granted, or a refusal: leased, min hold or handover. If the node may have lost leases: closed (in quarantine), ready (quarantine over), or overdue (ready for longer than one quarantine)
	err     error  // if not nil, the following fields are not set

	confirmed driver.Token // confirmed token of this lease, or of the current holder's lease
	last      driver.Token // last token of the lock that the node knows
	top, time driver.Token // the node's largest token, and the time on its clock in microseconds
	holder    string
	note      string
	since     time.Duration
	freeIn    time.Duration
}

func readVote(n *node, cmd *redis.Cmd) vote {
	v := vote{node: n}
	list, err := cmd.Slice()
	if err != nil {
		v.err = err
		return v
	}
	var numbers [6]int64
	ok := len(list) == 9
	for i, from := range []int{1, 2, 3, 4, 7, 8} {
		if ok {
			numbers[i], ok = list[from].(int64)
		}
	}
	var texts [3]string
	for i, from := range []int{0, 5, 6} {
		if ok {
			texts[i], ok = list[from].(string)
		}
	}
	if !ok {
		v.err = fmt.Errorf("unexpected reply of a script: %v", list)
		return v
	}
	v.verdict, v.holder, v.note = texts[0], texts[1], texts[2]
	v.confirmed, v.last, v.top, v.time = driver.Token(numbers[0]), driver.Token(numbers[1]), driver.Token(numbers[2]), driver.Token(numbers[3])
	v.since, v.freeIn = time.Duration(numbers[4])*time.Microsecond, time.Duration(numbers[5])*time.Microsecond
	return v
}

func (v vote) granted() bool   { return v.err == nil && v.verdict == "granted" }
func (v vote) ready() bool     { return v.err == nil && (v.verdict == "ready" || v.verdict == "overdue") }
func (v vote) forgetful() bool { return v.ready() || v.err == nil && v.verdict == "closed" }
func (v vote) refused() bool   { return v.err == nil && !v.granted() && !v.forgetful() }

// count returns the number of elements of list for which the function kind returns true.
func count[T any](list []T, kind func(T) bool) int {
	n := 0
	for _, v := range list {
		if kind(v) {
			n++
		}
	}
	return n
}

// mint makes a token from the votes that grant the lock. If some nodes have already confirmed a token for this
// acquisition, and no node knows a larger token, mint returns that token. Otherwise it returns a new token, which is
// larger than all known tokens and not behind the clock of any node.
func mint(votes []vote) driver.Token {
	var confirmed, others, top, clock driver.Token
	for _, v := range votes {
		if v.granted() {
			confirmed = max(confirmed, v.confirmed)
			top, clock = max(top, v.top, v.last), max(clock, v.time)
		}
	}
	for _, v := range votes {
		if v.granted() && v.confirmed != confirmed {
			others = max(others, v.last)
		}
	}
	if confirmed > others {
		return confirmed
	}
	return max(top+1, clock)
}

// propose returns a token that nodes will probably confirm with their votes, which saves the second round. If the nodes
// do not confirm it, the ballot has a second round.
func (r *Backend) propose() driver.Token {
	return max(driver.Token(time.Now().UnixMicro()), driver.Token(r.largest.Load())+1)
}

// saw records the largest token that a node has reported.
func (r *Backend) saw(top driver.Token) {
	for {
		known := r.largest.Load()
		if int64(top) <= known || r.largest.CompareAndSwap(known, int64(top)) {
			return
		}
	}
}

// floor returns the largest token that the nodes have reported. A node that has lost data must confirm only larger
// tokens.
func floor(votes []vote) driver.Token {
	var top driver.Token
	for _, v := range votes {
		top = max(top, v.top)
	}
	return top
}

// enoughToAdmit reports whether enough nodes have answered to admit the nodes whose quarantine is over. There are
// enough answers if a majority of the nodes has lost nothing, or if all nodes have answered. If a node is overdue,
// which means that it has been ready for longer than one quarantine, any majority of the nodes is enough. In this case
// tokens rise only if the nodes' clocks differ by less than one quarantine.
func enoughToAdmit(votes []vote, nodes int) bool {
	quorum := nodes/2 + 1
	answers := count(votes, func(v vote) bool { return v.err == nil })
	overdue := count(votes, func(v vote) bool { return v.err == nil && v.verdict == "overdue" })
	return answers-count(votes, vote.forgetful) >= quorum || answers == nodes || overdue > 0 && answers >= quorum
}

// disagree reports whether a release is in progress. During a release, some of the nodes that know the largest token
// say that the lock is held, and others say that it was released.
func disagree(votes []vote) bool {
	var largest driver.Token
	for _, v := range votes {
		if v.refused() {
			largest = max(largest, v.confirmed)
		}
	}
	says := func(verdict string) bool {
		return count(votes, func(v vote) bool { return v.refused() && v.confirmed == largest && v.verdict == verdict }) > 0
	}
	return largest > 0 && says("leased") && says("min hold")
}

// refusal combines the votes into one error, after no majority has granted the lock.
func (r *Backend) refusal(votes []vote) error {
	answered := count(votes, func(v vote) bool { return v.err == nil })
	if answered < r.quorum() {
		return r.unreachable(votes)
	}
	needed := r.quorum() - count(votes, vote.granted)
	if h := soonest(votes, vote.refused, needed); h != nil {
		if h.Reason == driver.Leased && !r.mayHold(votes, h.Token) { // no majority can have confirmed this token, so its lease belongs to a competing request or to one that has just failed
			h.Reason, h.Token = driver.Contended, 0
		}
		return h
	}
	return soonest(votes, vote.forgetful, needed)
}

// mayHold reports whether a majority may have confirmed this token. It counts all nodes that have not granted the lock
// or reported another lease.
func (r *Backend) mayHold(votes []vote, token driver.Token) bool {
	others := count(votes, func(v vote) bool { return v.granted() || v.refused() && v.confirmed != token })
	return len(r.nodes)-others >= r.quorum()
}

// soonest returns a refusal, or nil if no node refuses. Only the votes for which the function kind returns true count.
// The refusal's ExpiresIn is the time until the lock is free at as many of these nodes as the parameter needed says.
// The holder and the reason come from the node with the largest token among the nodes that become free first. If
// several of them have that token, soonest takes the one that becomes free last.
func soonest(votes []vote, kind func(vote) bool, needed int) *driver.Held {
	list := slices.DeleteFunc(slices.Clone(votes), func(v vote) bool { return !kind(v) })
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(x, y vote) int { return cmp.Compare(x.freeIn, y.freeIn) })
	last := min(max(needed, 1), len(list)) - 1
	ends := list[last].freeIn
	slices.Reverse(list[:last+1]) // MaxFunc returns the first of equal elements; after this line, that is the one that becomes free last
	said := slices.MaxFunc(list, func(x, y vote) int { return cmp.Compare(x.confirmed, y.confirmed) })
	h := &driver.Held{
		Reason: driver.Quarantine, Holder: said.holder, Note: said.note, Token: said.confirmed, Since: said.since,
		ExpiresIn: ends,
	}
	if said.forgetful() {
		return h
	}
	h.Reason = redisbase.Reasons[said.verdict]
	if said.confirmed == 0 && h.Reason == driver.Leased { // the lease has no confirmed token, so it belongs to a competing request, which may still succeed or fail
		h.Reason = driver.Contended
	}
	return h
}

// unreachable returns an error that lists the nodes that did not answer. The error does not claim that the request had
// no effect, because these nodes may have executed the request.
func (r *Backend) unreachable(votes []vote) error {
	var causes []string
	permanent := 0
	for _, v := range votes {
		if v.err == nil {
			continue
		}
		causes = append(causes, fmt.Sprintf("%s: %v", v.node.addr, v.err))
		if driver.IsPermanent(v.err) {
			permanent++
		}
	}
	answered := len(votes) - len(causes)
	err := fmt.Errorf("%d of %d nodes answered, and a majority is %d", answered, len(r.nodes), r.quorum())
	if len(causes) > 0 {
		err = fmt.Errorf("%w; %s", err, strings.Join(causes, "; "))
	}
	if permanent > len(r.nodes)-r.quorum() {
		return driver.Permanent(err)
	}
	return err
}

// misfit returns the error of a server that must not be a node, or nil if there is no such server.
func misfit(votes []vote) error {
	for _, v := range votes {
		var u *unfit
		if errors.As(v.err, &u) {
			return fmt.Errorf("node %s: %w", v.node.addr, v.err)
		}
	}
	return nil
}
