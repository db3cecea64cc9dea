package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Acquire implements [driver.Backend]. It sends up to two rounds of requests to all nodes in parallel. Each round lasts
// until a majority has answered. Slower nodes are handled in the background: Acquire confirms the token there, or
// undoes a failed attempt.
func (r *Backend) Acquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	g, err := r.acquire(ctx, req)
	var held *driver.Held
	if err != nil && !errors.As(err, &held) {
		err = redisbase.Describe(ctx, pkg, "acquire", req.Key, err)
	}
	return g, err
}

func (r *Backend) acquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	if err := r.begin(); err != nil {
		return driver.Grant{}, err
	}
	defer r.work.done()
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, driver.NotApplied(err)
	}
	if req.TTL > r.options.maxTTL {
		return driver.Grant{}, driver.Permanent(fmt.Errorf("a TTL of %s is longer than the MaxTTL of %s, after which nodes may have forgotten a lease", req.TTL, r.options.maxTTL))
	}
	var token driver.Token
	var err error
	for n := range ballots {
		b := r.newBallot(ctx, req)
		var next *again
		if token, err = b.decide(); !errors.As(err, &next) {
			break
		}
		if err = next.error; b.competing && n+1 < ballots && !b.backOff() {
			break
		}
	}
	if err != nil {
		return driver.Grant{}, err
	}
	if req.Waiting {
		r.places.Granted(req.Key)
	}
	return driver.Grant{Key: req.Key, Nonce: req.Nonce, Token: token, TTL: req.TTL, MinHold: req.MinHold, HandoverDelay: req.HandoverDelay}, nil
}

// ballots is the largest number of ballots in one call of Acquire. If a ballot fails and another ballot may succeed,
// the error has the type again. There are four such cases: nodes have just been admitted, the ballot was too slow, the
// token was not confirmed, or concurrent requests split the votes.
const ballots = 3

type again struct{ error }

// leastValidity limits how long a ballot may take: if less than 1/leastValidity of the TTL is left after the ballot,
// the ballot fails.
const leastValidity = 2

// drift returns how far a server's clock may run ahead of this process's clock within d. The formula is that of the
// published Redlock algorithm.
func drift(d time.Duration) time.Duration { return d/100 + 2*time.Millisecond }

// decide runs the ballot until it is decided, and returns the token of the grant or the reason of the failure.
func (b *ballot) decide() (driver.Token, error) {
	err := b.first()
	if err == nil {
		err = b.second()
	}
	if left := b.req.TTL - time.Since(b.began) - drift(b.req.TTL); err == nil && left < b.req.TTL/leastValidity {
		err = &again{fmt.Errorf("the grant took %s, which leaves only %s of the TTL of %s", time.Since(b.began).Round(time.Millisecond), left.Round(time.Millisecond), b.req.TTL)}
	}
	b.kept = err == nil
	close(b.over)
	return b.token, err
}

// first performs the first round. It collects votes until a majority has granted the lock, or until no majority can
// grant it.
func (b *ballot) first() error {
	defer close(b.minted)
	r, q := b.redlock, b.redlock.quorum()
	wait := r.options.limit(b.req.TTL)
	meeting := !r.met.Load()
	if meeting || b.unknownNodes {
		wait = r.options.contact(b.req.TTL)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var votes []vote
	var patience <-chan time.Time // a timer that ends the wait for slow nodes if concurrent requests compete
	for pending := len(r.nodes); pending > 0; {
		granted := count(votes, vote.granted)
		if !meeting && (granted >= q || granted+pending < q && b.answered(votes, pending)) {
			break
		}
		select {
		case v := <-b.votes:
			votes = append(votes, v)
			if pending--; patience == nil && b.splits(votes, wait) {
				patience = time.After(2*time.Since(b.began) + time.Millisecond)
			}
		case <-timer.C:
			for range pending {
				votes = append(votes, vote{node: b.silent(votes), err: fmt.Errorf("no answer within %s", wait)})
			}
			pending = 0
		case <-patience:
			b.competing = true
			for range pending {
				votes = append(votes, vote{node: b.silent(votes), err: fmt.Errorf("no answer within %s", time.Since(b.began))})
			}
			pending = 0
		case <-b.ctx.Done():
			return b.ctx.Err()
		}
	}
	if err := misfit(votes); err != nil {
		return err
	}
	r.met.Store(true)
	b.floor, b.admits = floor(votes), enoughToAdmit(votes, len(r.nodes))
	granted := count(votes, vote.granted)
	if granted >= q {
		b.token = mint(votes)
		return nil
	}
	failure := r.refusal(votes)
	if ready := count(votes, vote.ready); b.admits && ready > 0 && granted+ready >= q {
		return b.await(ready, timer.C, failure)
	}
	if b.competing = b.competing || b.splits(votes, wait); b.competing {
		return &again{failure}
	}
	return failure
}

// answered is called when no majority can grant the lock any more. It reports whether b.first may stop collecting
// votes, because the error can already say why the lock was not granted. The votes must include a node that knows the
// holder. A majority must have answered, unless so many nodes have failed that no majority can answer. If a node waits
// to be admitted, enough nodes must have answered to admit it. If the nodes disagree whether the lock was released,
// all nodes must have voted.
func (b *ballot) answered(votes []vote, pending int) bool {
	r := b.redlock
	answers := count(votes, func(v vote) bool { return v.err == nil })
	if ready := count(votes, vote.ready); ready > 0 && !enoughToAdmit(votes, len(r.nodes)) || answers > 0 && count(votes, vote.refused) == 0 || disagree(votes) {
		return false
	}
	return answers >= r.quorum() || answers+pending < r.quorum()
}

// splits reports whether concurrent requests have split the votes, so that all of these requests may fail. If a
// majority has a lease, or if the lease is older than limit, the lease does not belong to a concurrent request.
func (b *ballot) splits(votes []vote, limit time.Duration) bool {
	q := b.redlock.quorum()
	for _, v := range votes {
		others := func(o vote) bool { return o.refused() && o.confirmed == v.confirmed }
		if v.refused() && (v.verdict != "leased" || v.since > limit || count(votes, others) >= q) {
			return false
		}
	}
	granted, refused := count(votes, vote.granted), count(votes, vote.refused)
	return granted > 0 && granted < q && refused > 0 && granted+refused >= q
}

// backOff waits until the competing requests have probably failed or succeeded. It returns false if ctx has ended.
func (b *ballot) backOff() bool {
	return backoff.Sleep(b.ctx, rand.N(4*time.Since(b.began)+1))
}

// silent returns a node that has not voted yet.
func (b *ballot) silent(votes []vote) *node {
	for _, n := range b.redlock.nodes {
		if count(votes, func(v vote) bool { return v.node == n }) == 0 {
			return n
		}
	}
	return nil
}

// await lets the goroutines of the nodes that are ready admit these nodes, and waits for the results. To start the
// goroutines, it closes the channel admitting. The channel minted cannot start them, because b.first closes that
// channel only after await has returned.
func (b *ballot) await(ready int, timeout <-chan time.Time, failure error) error {
	close(b.admitting)
	for range ready {
		select {
		case <-b.admitted:
		case <-timeout:
			return failure
		case <-b.ctx.Done():
			return b.ctx.Err()
		}
	}
	return &again{failure}
}

// second performs the second round. It collects confirmations until a majority has confirmed the token, or cannot
// confirm it.
func (b *ballot) second() error {
	r, q := b.redlock, b.redlock.quorum()
	timer := time.NewTimer(r.options.limit(b.req.TTL))
	defer timer.Stop()
	yes, no := 0, 0
	for {
		switch {
		case yes >= q:
			return nil
		case no > len(r.nodes)-q:
			return &again{fmt.Errorf("%d of %d nodes confirmed token %d, and a majority is %d", yes, len(r.nodes), b.token, q)}
		}
		select {
		case confirmed := <-b.confirmations:
			if confirmed {
				yes++
			} else {
				no++
			}
		case <-timer.C:
			return fmt.Errorf("%d of %d nodes confirmed token %d in time, and a majority is %d", yes, len(r.nodes), b.token, q)
		case <-b.ctx.Done():
			return b.ctx.Err()
		}
	}
}
