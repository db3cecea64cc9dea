package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// ballot is one attempt to acquire a lock. One goroutine for each node performs the steps of the ballot at that node,
// even if the node is slow. The goroutine requests the node's vote, confirms the token or admits the node, and undoes
// the grant if the ballot failed.
type ballot struct {
	redlock      *Backend
	ctx          context.Context
	req          driver.Request
	key          string
	number       int64        // larger than the numbers of all earlier ballots of this backend
	waiter       candidate    // this process if it waits for the name; otherwise empty
	began        time.Time    // the time just before the first request was sent
	proposed     driver.Token // the token that nodes may confirm with their votes
	unknownNodes bool         // some nodes have not been contacted yet
	enough       bool         // the present nodes are a majority, so the absent nodes get no request

	votes         chan vote
	minted        chan struct{} // closed when the fields token, floor and admits are set
	admitting     chan struct{} // closed if nodes must be admitted before another ballot; then the goroutines of these nodes send them the token floor
	confirmations chan bool
	admitted      chan bool
	over          chan struct{} // closed when the ballot is decided and the field kept is set

	token     driver.Token // 0 if there is no majority
	floor     driver.Token
	admits    bool // enough nodes have answered to admit nodes, so the field floor is valid
	kept      bool
	competing bool // there is no majority because of concurrent requests
}

func (r *Backend) newBallot(ctx context.Context, req driver.Request) *ballot {
	n := len(r.nodes)
	b := &ballot{
		redlock: r, ctx: ctx, req: req, key: r.options.prefix.Encode(req.Key), began: time.Now(), number: r.ballots.Add(1), proposed: r.propose(),
		votes: make(chan vote, n), minted: make(chan struct{}), admitting: make(chan struct{}),
		confirmations: make(chan bool, n), admitted: make(chan bool, n), over: make(chan struct{}),
	}
	if req.Waiting {
		if since := r.places.Since(req.Key); !since.IsZero() {
			b.waiter = candidate{r.places.Asks(req.Key), since}
		}
	}
	present := 0
	for _, n := range r.nodes {
		if !n.isAbsent() {
			present++
			b.unknownNodes = b.unknownNodes || n.isUnknown()
		}
	}
	if b.enough = present >= r.quorum(); present < len(r.nodes) {
		r.look()
	}
	for _, n := range r.nodes {
		t := n.turn(req.Key)
		t.asks = req.Nonce
		r.work.run(func() {
			defer t.done()
			b.run(n, t)
		})
	}
	return b
}

// run performs the ballot at one node.
func (b *ballot) run(n *node, t *turn) {
	v := b.vote(n, t)
	b.votes <- v
	select {
	case <-b.minted:
	case <-b.admitting:
	}
	if v.ready() && b.admits {
		b.admitted <- b.redlock.admit(n, b.floor, b.redlock.options.limit(b.req.TTL))
	}
	<-b.minted
	if b.token > 0 {
		b.confirmations <- v.granted() && (v.confirmed == b.token || b.confirm(n))
	}
	<-b.over
	var never *unfit
	if !b.kept && t.asked && (v.granted() || v.err != nil && !errors.As(v.err, &never)) {
		b.undo(n)
	}
}

// vote requests the vote of a node, after all earlier requests for the lock at that node.
func (b *ballot) vote(n *node, t *turn) vote {
	o := b.redlock.options
	limit := o.limit(b.req.TTL)
	switch {
	case n.isAbsent() && b.enough:
		return vote{node: n, err: errAbsent}
	case n.isUnknown() && !n.isAbsent():
		limit = o.contact(b.req.TTL)
	}
	ctx, cancel := bound(b.ctx, limit)
	defer cancel()
	if !t.wait(ctx) {
		return vote{node: n, err: fmt.Errorf("the previous request for this lock had no answer within %s", limit)}
	}
	if n.isEnding(b.req.Nonce) {
		return vote{node: n, err: errors.New("the acquisition is being released")}
	}
	t.asked = true
	return b.redlock.voteAt(ctx, n, n.within(limit), b.req.Nonce.String(), b.req, b.waiter, b.number, b.proposed)
}

var errAbsent = errors.New("it has not answered yet, and is being contacted in the background")

// confirm performs the second round at one node, and reports whether the node has confirmed the token.
func (b *ballot) confirm(n *node) bool {
	limit := b.redlock.options.limit(b.req.TTL)
	ctx, cancel := bound(b.ctx, limit)
	defer cancel()
	ok, err := redisbase.Run(ctx, n.within(limit), confirmScript.On([]string{b.key, b.redlock.options.prefix.Record()},
		b.req.Nonce.String(), b.token.String(),
	)).Bool()
	return err == nil && ok
}

// undo ends a grant that a node made, or may have made, to this failed ballot or an earlier one. On a slow network
// undo may arrive late, so it must not end the grant of a later ballot of the same acquisition. undo notifies no
// waiter. If it did, that waiter would probably find the lock still taken at other nodes. The undo of that waiter's
// failed ballot would then notify the next waiter, and so on.
func (b *ballot) undo(n *node) {
	limit := b.redlock.options.limit(b.req.TTL)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), limit)
	defer cancel()
	_ = b.redlock.releaseAt(ctx, n, limit, driver.Grant{Key: b.req.Key, Nonce: b.req.Nonce}, b.number).Err()
}
