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

// vote is what one node says to an acquire.
type vote struct {
	node    *node
	verdict string // granted; leased, min hold or handover; closed, ready or overdue: it may have forgotten
	err     error  // instead of all that follows

	confirmed driver.Token // of this lease, or of whoever has the lock
	last      driver.Token // of the lock, as far as the node knows
	top, time driver.Token // the node's largest token, and its clock
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
		v.err = fmt.Errorf("a script answered %v", list)
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

// count is how many of a list are of one kind.
func count[T any](list []T, kind func(T) bool) int {
	n := 0
	for _, v := range list {
		if kind(v) {
			n++
		}
	}
	return n
}

// mint makes a token from the votes that grant. One that some nodes have confirmed for this same acquisition
// is taken again where nothing larger is known; else it is larger than all that is known, and no clock behind.
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

// propose is a token that nodes will most likely confirm with their votes, which saves the second round. What nodes do not confirm costs
// that round, and nothing else.
func (r *Backend) propose() driver.Token {
	return max(driver.Token(time.Now().UnixMicro()), driver.Token(r.largest.Load())+1)
}

// saw remembers the largest token of a node.
func (r *Backend) saw(top driver.Token) {
	for {
		known := r.largest.Load()
		if int64(top) <= known || r.largest.CompareAndSwap(known, int64(top)) {
			return
		}
	}
}

// floor is what a node that has forgotten must begin above.
func floor(votes []vote) driver.Token {
	var top driver.Token
	for _, v := range votes {
		top = max(top, v.top)
	}
	return top
}

// told says whether votes are of enough of the nodes to tell the others what they may have forgotten: of a majority that has
// forgotten nothing, or of all. When such do not come together for as long again as a quarantine is, a majority is enough: then tokens
// rise by the nodes' clocks, as long as these agree within that time.
func told(votes []vote, nodes int) bool {
	quorum := nodes/2 + 1
	answers := count(votes, func(v vote) bool { return v.err == nil })
	overdue := count(votes, func(v vote) bool { return v.err == nil && v.verdict == "overdue" })
	return answers-count(votes, vote.forgetful) >= quorum || answers == nodes || overdue > 0 && answers >= quorum
}

// disagree says whether a release is on its way: of those who know the largest token, some say that it is held and others that it was
// released.
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

// refusal makes one answer of those of the nodes, none of which can bring a majority.
func (r *Backend) refusal(votes []vote) error {
	answered := count(votes, func(v vote) bool { return v.err == nil })
	if answered < r.quorum() {
		return r.unreachable(votes)
	}
	needed := r.quorum() - count(votes, vote.granted)
	if h := soonest(votes, vote.refused, needed); h != nil {
		if h.Reason == driver.Leased && !r.mayHold(votes, h.Token) { // several ask at once, or one of them has just failed
			h.Reason, h.Token = driver.Contended, 0
		}
		return h
	}
	return soonest(votes, vote.forgetful, needed)
}

// mayHold says whether a majority may have confirmed this token: nodes that have told of no other lease count for it.
func (r *Backend) mayHold(votes []vote, token driver.Token) bool {
	others := count(votes, func(v vote) bool { return v.granted() || v.refused() && v.confirmed != token })
	return len(r.nodes)-others >= r.quorum()
}

// soonest is the refusal that ends when needed of those that refuse are free, told in the words of the one with the largest token, of
// several of the last that must be free: one more that has yet to hear of a release says less. It is nil if none refuses.
func soonest(votes []vote, kind func(vote) bool, needed int) *driver.Held {
	list := slices.DeleteFunc(slices.Clone(votes), func(v vote) bool { return !kind(v) })
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(x, y vote) int { return cmp.Compare(x.freeIn, y.freeIn) })
	last := min(max(needed, 1), len(list)) - 1
	ends := list[last].freeIn
	slices.Reverse(list[:last+1]) // of equal ones the first is taken
	said := slices.MaxFunc(list, func(x, y vote) int { return cmp.Compare(x.confirmed, y.confirmed) })
	h := &driver.Held{
		Reason: driver.Quarantine, Holder: said.holder, Note: said.note, Token: said.confirmed, Since: said.since,
		ExpiresIn: ends,
	}
	if said.forgetful() {
		return h
	}
	h.Reason = redisbase.Reasons[said.verdict]
	if said.confirmed == 0 && h.Reason == driver.Leased { // somebody is about to have it, or fails as we do
		h.Reason = driver.Contended
	}
	return h
}

// unreachable says which nodes did not answer. Requests that were sent may have been carried out.
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
	err := fmt.Errorf("%d of %d nodes answered, and it takes %d", answered, len(r.nodes), r.quorum())
	if len(causes) > 0 {
		err = fmt.Errorf("%w; %s", err, strings.Join(causes, "; "))
	}
	if permanent > len(r.nodes)-r.quorum() {
		return driver.Permanent(err)
	}
	return err
}

// misfit is the error of a node that must not be one.
func misfit(votes []vote) error {
	for _, v := range votes {
		var u *unfit
		if errors.As(v.err, &u) {
			return fmt.Errorf("node %s: %w", v.node.addr, v.err)
		}
	}
	return nil
}
