package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Acquire implements [driver.Backend]. It sends a request to all nodes in parallel, and waits until a majority has
// answered. If no majority has confirmed the token, it sends a second request. If the attempt failed, it undoes the
// grants of single nodes in the background.
func (r *Backend) Acquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	g, err := r.acquire(ctx, req)
	var held *driver.Held
	if err != nil && !errors.As(err, &held) {
		err = redisbase.Describe(ctx, pkg, "acquire", req.Key, err)
	}
	return g, err
}

// attempts is the largest number of attempts in one call of Acquire.
const attempts = 3

// again is the error of an attempt if another attempt may succeed at once. There are four such cases: nodes have just
// been admitted, the attempt was too slow, the token was not confirmed, or concurrent attempts split the votes.
type again struct {
	error
	split bool
}

func (r *Backend) acquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	if err := r.begin(); err != nil {
		return driver.Grant{}, err
	}
	defer r.crew.Leave()
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, driver.NotApplied(err)
	}
	if req.TTL > r.options.maxTTL {
		return driver.Grant{}, driver.Permanent(fmt.Errorf("a TTL of %s is longer than the MaxTTL of %s, after which nodes may have forgotten a lease", req.TTL, r.options.maxTTL))
	}
	r.meet(ctx, req.TTL)
	if err := r.misfit(); err != nil {
		return driver.Grant{}, err
	}
	for n := 1; ; n++ {
		began := time.Now()
		token, err := r.attempt(ctx, req)
		if err == nil {
			if req.Waiting {
				r.places.Granted(req.Key)
				r.resting.Delete(req.Key)
			}
			return driver.Grant{Key: req.Key, Nonce: req.Nonce, Token: token, TTL: req.TTL, MinHold: req.MinHold, HandoverDelay: req.HandoverDelay}, nil
		}
		var next again
		if !errors.As(err, &next) {
			return driver.Grant{}, err
		}
		// A random delay of a few round trips lets one of the concurrent attempts win.
		if n == attempts || next.split && !backoff.Sleep(ctx, rand.N(4*time.Since(began)+1)) {
			return driver.Grant{}, next.error
		}
	}
}

// attempt is one attempt to acquire a lock at a majority of the nodes.
type attempt struct {
	redlock *Backend
	ctx     context.Context
	req     driver.Request
	number  int64         // larger than the numbers of all earlier attempts of this backend; it is also the proposed token
	limit   time.Duration // timeout of one request
	votes   []vote
	decided chan struct{} // closed when the votes are counted; then no further request for a vote is sent

	waiter string    // the id of this process if it waits for the name
	since  time.Time // when that wait began
}

// leastValidity limits how long an attempt may take: if less than 1/leastValidity of the TTL is left after the attempt,
// the attempt fails.
const leastValidity = 2

// drift returns how far a server's clock may run ahead of this process's clock within d. The formula is that of the
// published Redlock algorithm.
func drift(d time.Duration) time.Duration { return d/100 + 2*time.Millisecond }

func (r *Backend) attempt(ctx context.Context, req driver.Request) (driver.Token, error) {
	a := &attempt{redlock: r, ctx: ctx, req: req, number: r.number(), limit: r.options.limit(req.TTL), decided: make(chan struct{})}
	if since := r.places.Since(req.Key); req.Waiting && !since.IsZero() {
		a.waiter, a.since = r.places.Asks(req.Key), since
	}
	if held := a.poll(); held != nil {
		return 0, held
	}
	began := time.Now()
	token, err := a.elect(began)
	if err == nil {
		err = a.confirm(token)
	}
	if left := req.TTL - time.Since(began) - drift(req.TTL); err == nil && left < req.TTL/leastValidity {
		err = again{error: fmt.Errorf("the grant took %s, which leaves only %s of the TTL of %s", time.Since(began).Round(time.Millisecond), left.Round(time.Millisecond), req.TTL)}
	}
	if err != nil {
		a.undo()
	}
	if held := (*driver.Held)(nil); a.waiter != "" && errors.As(err, &held) && held.Reason == driver.Leased {
		r.resting.Store(req.Key, nil)
		held.Listed = r.pollsSeldom(req.Key, slices.MaxFunc(a.votes, func(x, y vote) int { return cmp.Compare(x.waiters, y.waiters) }).waiters)
	}
	return token, err
}

// poll requests the vote of one node only, if all nodes have refused the last request of this process, and none has
// notified it since. It returns the refusal of this node, or nil if the other nodes must be asked too. Another node is
// chosen each time, because this one may have a lease that the other nodes do not have.
func (a *attempt) poll() *driver.Held {
	r := a.redlock
	if _, resting := r.resting.Load(a.req.Key); a.waiter == "" || !resting {
		return nil
	}
	only := r.nodes[rand.N(len(r.nodes))]
	for one := range a.inquire("vote", driver.Token(a.number), only).within(a.ctx, a.limit) {
		v := one.value
		if v.err = one.err; !v.refused() || v.verdict != "leased" || v.confirmed == 0 {
			return nil
		}
		held := soonest([]vote{v}, vote.refused, 1)
		held.Listed = r.pollsSeldom(a.req.Key, v.waiters)
		if v.since <= a.limit { // perhaps the lease belongs to an attempt that fails
			held.Reason, held.Token, held.Listed = driver.Contended, 0, false
		}
		return held
	}
	return nil
}

// elect collects votes until a majority has granted the lock, or until no majority can grant it. It returns the token
// of the grant. If the votes show an earlier request with this nonce, elect waits for the votes that show its token.
func (a *attempt) elect(began time.Time) (driver.Token, error) {
	defer close(a.decided)
	r := a.redlock
	q := a.inquire("vote", driver.Token(a.number), nil)
	over := func() bool {
		granted := count(a.votes, vote.granted)
		if granted >= r.quorum() {
			return !a.repeats() || r.chosen(a.votes) > 0
		}
		return granted+q.pending < r.quorum() && r.answered(a.votes, q.pending)
	}
	for one := range q.within(a.ctx, a.limit) {
		if a.add(one); over() || r.split(a.votes, a.limit) {
			break
		}
	}
	if !over() && r.split(a.votes, a.limit) { // do not wait long for slow nodes, because nobody has the lock meanwhile
		for one := range q.within(a.ctx, 2*time.Since(began)+time.Millisecond) {
			if a.add(one); over() {
				break
			}
		}
	}
	granted, ready := count(a.votes, vote.granted), count(a.votes, vote.ready)
	if granted >= r.quorum() {
		return r.mint(a.votes), nil
	}
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	err := r.refusal(a.votes)
	if ready > 0 && granted+ready >= r.quorum() && r.admitNodes(a.ctx, a.limit) {
		return 0, again{error: err}
	}
	if r.split(a.votes, a.limit) {
		var held *driver.Held
		if errors.As(err, &held) { // perhaps nobody has the lock, and then no release wakes this waiter
			held.Reason, held.Token = driver.Contended, 0
		}
		return 0, again{err, true}
	}
	return 0, err
}

// repeats reports whether a node has confirmed a token for an earlier request with this nonce.
func (a *attempt) repeats() bool {
	return count(a.votes, func(v vote) bool {
		return v.granted() && v.confirmed != 0 && v.confirmed != driver.Token(a.number)
	}) > 0
}

func (a *attempt) add(one reply[vote]) {
	one.value.node, one.value.err = one.node, one.err
	a.votes = append(a.votes, one.value)
}

// confirm performs the second round, unless a majority has confirmed the token with its votes.
func (a *attempt) confirm(token driver.Token) error {
	r := a.redlock
	r.saw(token)
	confirms := func(v vote) bool { return v.granted() && v.confirmed == token }
	if count(a.votes, confirms) >= r.quorum() {
		return nil
	}
	yes, no := 0, 0
	for one := range a.inquire("confirm", token, nil).within(a.ctx, a.limit) {
		if one.err == nil && confirms(one.value) {
			yes++
		} else {
			no++
		}
		if yes >= r.quorum() {
			return nil
		}
		if no > len(r.nodes)-r.quorum() {
			break
		}
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	return again{error: fmt.Errorf("%d of %d nodes confirmed token %d, and a majority is %d", yes, len(r.nodes), token, r.quorum())}
}

// inquire requests the votes of all nodes, or their confirmations of the token. If the parameter only is not nil, only
// this node gets a request. At each node it waits for all earlier requests for the lock.
func (a *attempt) inquire(mode string, token driver.Token, only *node) *inquiry[vote] {
	return inquire(a.redlock, func(n *node) func() (vote, error) {
		if only != nil && n != only {
			return nil
		}
		t := n.turn(a.req.Key, a.req.Nonce)
		return func() (vote, error) {
			defer t.end()
			ctx, cancel := bound(a.ctx, a.limit)
			defer cancel()
			stop := a.decided
			if mode == "confirm" {
				stop = nil
			}
			if _, why := n.known(); why != nil {
				return vote{}, why
			}
			if !t.wait(ctx, stop) {
				return vote{}, fmt.Errorf("the previous request for this lock had no answer within %s", a.limit)
			}
			v, err := a.redlock.acquireAt(ctx, n, a.limit, mode, a.req, a.number, token, a.waiter, a.since)
			if v.ready() {
				a.redlock.lookAfterNodes()
			}
			t.asked, t.left = true, err == nil && v.granted() || err != nil && !driver.IsNotApplied(err)
			return v, err
		}
	})
}

// acquireAt runs the acquire script at one node. Without a nonce it only queries the node's state. An error that is not
// NotApplied means that the node may have granted the lock.
func (r *Backend) acquireAt(ctx context.Context, n *node, limit time.Duration, mode string, req driver.Request, number int64, token driver.Token, waiter string, since time.Time) (vote, error) {
	cmds, err := r.send(ctx, n, n.within(limit), func(of *run) []redisbase.Call {
		return []redisbase.Call{r.acquireCall(of.acquire, mode, req, number, token, waiter, since)}
	})
	if err != nil {
		return vote{}, err
	}
	v, err := readVote(cmds[0])
	r.saw(v.top)
	return v, redisbase.Classify(err)
}

func (r *Backend) acquireCall(s redisbase.Script, mode string, req driver.Request, number int64, token driver.Token, waiter string, since time.Time) redisbase.Call {
	o, nonce := r.options, ""
	if req.Nonce != (driver.Nonce{}) {
		nonce = req.Nonce.String()
	}
	return s.On([]string{o.prefix.Encode(req.Key), o.prefix.Record(), r.waiters(req.Key)},
		mode, nonce, token.String(), number, req.Holder, req.Note, redisbase.Micros(req.TTL), redisbase.Micros(req.MinHold), redisbase.Micros(req.HandoverDelay),
		retention.Milliseconds(), redisbase.Micros(o.quarantine()), waiter, since.UnixMicro(),
	)
}

// undo ends the grants that nodes made, or may have made, to this attempt or an earlier one of the same acquisition. On
// a slow network an undo may arrive late, so it does not end the grant of a later attempt. undo notifies no waiter. If
// it did, that waiter would probably find the lock still taken at other nodes. The undo of that waiter's failed attempt
// would then notify the next waiter, and so on.
func (a *attempt) undo() {
	inquire(a.redlock, func(n *node) func() (bool, error) {
		for _, v := range a.votes {
			if v.node == n && !v.granted() && (v.err == nil || driver.IsNotApplied(v.err)) {
				return nil
			}
		}
		return a.redlock.releaseAt(a.ctx, n, driver.Grant{Key: a.req.Key, Nonce: a.req.Nonce, TTL: a.req.TTL}, a)
	})
}
