package redlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Release implements [driver.Backend]. It sends the release to all nodes in parallel. It returns when a majority of the
// nodes has released the lock, or when it is clear that no majority knows the grant. Slower nodes get the release in
// the background.
func (r *Backend) Release(ctx context.Context, g driver.Grant) error {
	err := r.release(ctx, g)
	if err != nil && !errors.Is(err, driver.ErrNotHeld) {
		err = redisbase.Describe(ctx, pkg, "release", g.Key, err)
	}
	return err
}

func (r *Backend) release(ctx context.Context, g driver.Grant) error {
	if err := r.begin(); err != nil {
		return err
	}
	defer r.work.done()
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	limit := r.options.limit(g.TTL)
	answers := make(chan answered, len(r.nodes))
	for _, n := range r.nodes {
		t, ended := n.turn(g.Key), n.ends(g.Nonce)
		r.work.run(func() {
			defer t.done()
			defer ended()
			if err := r.awaitTurn(ctx, n, t, g.TTL); err != nil {
				answers <- answered{n, false, err}
				return
			}
			if t.needless(g.Nonce) {
				answers <- answered{n, false, errors.New("the lease was never requested at this node")}
				return
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
			defer cancel()
			known, err := r.releaseAt(ctx, n, limit, g, 0).Bool()
			answers <- answered{n, known, err}
		})
	}
	return r.awaitReleases(ctx, answers, limit)
}

// awaitTurn waits until earlier requests for the lock at the node have ended. It waits longer than the caller of
// Release: as long as both rounds of an acquire, or a copy of the lease, may take. Otherwise the release would not be
// sent, and the node would keep a lock that has no holder.
func (r *Backend) awaitTurn(ctx context.Context, n *node, t *turn, ttl time.Duration) error {
	limit := 2 * r.options.limit(ttl)
	if n.isUnknown() {
		limit += r.options.contact(ttl)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if !t.wait(ctx) {
		return fmt.Errorf("the previous request for this lock had no answer within %s", limit)
	}
	return nil
}

// answered is the answer of one node to a release.
type answered struct {
	node  *node
	known bool
	err   error
}

func (r *Backend) awaitReleases(ctx context.Context, answers <-chan answered, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	known, unknown := 0, 0
	var failures []string
	for range r.nodes {
		select {
		case a := <-answers:
			switch {
			case a.err != nil:
				failures = append(failures, fmt.Sprintf("%s: %v", a.node.addr, a.err))
			case a.known:
				known++
			default:
				unknown++
			}
		case <-timer.C:
			failures = append(failures, fmt.Sprintf("no answer within %s", limit))
			return r.undecided(known, failures)
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case known >= r.quorum():
			return nil
		case unknown > len(r.nodes)-r.quorum():
			return driver.ErrNotHeld
		}
	}
	return r.undecided(known, failures)
}

func (r *Backend) undecided(known int, failures []string) error {
	return fmt.Errorf("%d of %d nodes released the lock, and a majority is %d; %s", known, len(r.nodes), r.quorum(), strings.Join(failures, "; "))
}

// releaseAt sends the release to one node. With a ballot, the release ends only grants of that ballot or an earlier
// one, and notifies nobody.
func (r *Backend) releaseAt(ctx context.Context, n *node, limit time.Duration, g driver.Grant, ballot int64) *redis.Cmd {
	calls, upTo := r.options.prefix.Waiters(), ""
	if ballot > 0 {
		calls, upTo = "", strconv.FormatInt(ballot, 10)
	}
	return redisbase.Run(ctx, n.within(limit), releaseScript.On([]string{r.options.prefix.Encode(g.Key), r.options.prefix.Record(), r.waiters(g.Key)},
		g.Nonce.String(), g.Token.String(), redisbase.Micros(g.MinHold), calls, upTo,
	))
}
