package redlock

import (
	"cmp"
	"fmt"
	"slices"
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
	waiters   int64 // how many processes wait, if the node has refused the request of a waiter
}

func readVote(cmd *redis.Cmd) (v vote, err error) {
	list, err := cmd.Slice()
	if err != nil {
		return v, err
	}
	var numbers [6]int64
	ok := len(list) >= 9
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
	var waiters int64
	if ok && len(list) > 9 {
		waiters, ok = list[9].(int64)
	}
	if !ok {
		return v, fmt.Errorf("unexpected reply of a script: %v", list)
	}
	return vote{
		verdict: texts[0], holder: texts[1], note: texts[2],
		confirmed: driver.Token(numbers[0]), last: driver.Token(numbers[1]), top: driver.Token(numbers[2]), time: driver.Token(numbers[3]),
		since: time.Duration(numbers[4]) * time.Microsecond, freeIn: time.Duration(numbers[5]) * time.Microsecond, waiters: waiters,
	}, nil
}

func (v vote) answered() bool  { return v.err == nil }
func (v vote) granted() bool   { return v.err == nil && v.verdict == "granted" }
func (v vote) overdue() bool   { return v.err == nil && v.verdict == "overdue" }
func (v vote) ready() bool     { return v.overdue() || v.err == nil && v.verdict == "ready" }
func (v vote) forgetful() bool { return v.ready() || v.err == nil && v.verdict == "closed" }
func (v vote) refused() bool   { return v.err == nil && !v.granted() && !v.forgetful() }

// chosen returns the token that a majority has confirmed for this acquisition, or 0. If a majority has confirmed a token
// and still has the lease, no other token can be chosen. So a repeated request returns the token of the first request.
func (r *Backend) chosen(votes []vote) driver.Token {
	for _, v := range votes {
		same := func(o vote) bool { return o.granted() && o.confirmed == v.confirmed }
		if v.granted() && v.confirmed > 0 && count(votes, same) >= r.quorum() {
			return v.confirmed
		}
	}
	return 0
}

// mint makes a token from the votes that grant the lock. If a majority has chosen a token, mint returns that token. If
// some nodes have confirmed a token for this acquisition, and no node knows a larger token, mint returns that token.
// Otherwise it returns a new token, which is larger than all known tokens and not behind the clock of any node.
func (r *Backend) mint(votes []vote) driver.Token {
	if token := r.chosen(votes); token > 0 {
		return token
	}
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

// answered is called when no majority can grant the lock any more. It reports whether the votes can already say why.
// They must include a node that knows the holder. A majority must have answered, unless so many nodes have failed that
// no majority can answer. If the nodes disagree whether the lock was released, all nodes must have voted.
func (r *Backend) answered(votes []vote, pending int) bool {
	answers := count(votes, vote.answered)
	if answers > 0 && count(votes, vote.refused) == 0 || disagree(votes) {
		return false
	}
	return answers >= r.quorum() || answers+pending < r.quorum()
}

// split reports whether concurrent attempts have split the votes, so that all of these attempts may fail. If a
// majority has a lease, or if the lease is older than limit, the lease does not belong to a concurrent attempt.
func (r *Backend) split(votes []vote, limit time.Duration) bool {
	for _, v := range votes {
		same := func(o vote) bool { return o.refused() && o.confirmed == v.confirmed }
		if v.refused() && (v.verdict != "leased" || v.since > limit || count(votes, same) >= r.quorum()) {
			return false
		}
	}
	granted, refused := count(votes, vote.granted), count(votes, vote.refused)
	return granted > 0 && granted < r.quorum() && refused > 0 && granted+refused >= r.quorum()
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

// refusal combines the votes into one error, after no majority has granted the lock. If too few nodes have answered, the
// error does not claim that the request had no effect, because the other nodes may have executed it.
func (r *Backend) refusal(votes []vote) error {
	if answers := count(votes, vote.answered); answers < r.quorum() {
		var f failures
		for _, v := range votes {
			if v.err != nil {
				f.add(v.node, v.err)
			}
		}
		return r.tooFew(answers, "answered", f)
	}
	needed := r.quorum() - count(votes, vote.granted)
	h := soonest(votes, vote.refused, needed)
	if h == nil {
		return soonest(votes, vote.forgetful, needed)
	}
	// A majority that may have confirmed the holder's token includes no node that has granted the lock or has another
	// lease. Without such a majority, the lease belongs to a competing attempt, or to one that has just failed.
	others := count(votes, func(v vote) bool { return v.granted() || v.refused() && v.confirmed != h.Token })
	if h.Reason == driver.Leased && len(r.nodes)-others < r.quorum() {
		h.Reason, h.Token = driver.Contended, 0
	}
	return h
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
	first := list[:min(max(needed, 1), len(list))]
	slices.Reverse(first) // MaxFunc returns the first of equal elements; after this line, that is the one that becomes free last
	said := slices.MaxFunc(first, func(x, y vote) int { return cmp.Compare(x.confirmed, y.confirmed) })
	h := &driver.Held{
		Reason: redisbase.Reasons[said.verdict], Holder: said.holder, Note: said.note, Token: said.confirmed, Since: said.since, ExpiresIn: first[0].freeIn,
	}
	switch {
	case said.forgetful():
		h.Reason = driver.Quarantine
	case said.confirmed == 0 && h.Reason == driver.Leased: // a lease without a confirmed token belongs to a competing attempt, which may still succeed or fail
		h.Reason = driver.Contended
	}
	return h
}
