package locktest

import (
	"errors"
	"sync"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var sharingCases = []testCase{
	{
		name:    "shared-grants-share",
		promise: "Several shared grants of a name may exist at the same time, of one or several clients, each with its own nonce, renewal and release.",
		run:     sharedGrantsShare,
	},
	{
		name:    "shared-keeps-out",
		promise: "An exclusive grant is refused until the last shared grant has ended, and shared grants are refused while an exclusive grant exists.",
		run:     sharedExcludes,
	},
	{
		name:    "shared-same-nonce",
		promise: "A repeated shared request returns the same grant, also beside other shared grants.",
		run:     sharedSameNonce,
	},
	{
		name:    "shared-reply-lost",
		promise: "If the reply to a shared request is lost, one release with the nonce ends the grant.",
		needs:   []power{dropping},
		run:     sharedReplyLost,
	},
	{
		name:    "shared-epoch-token",
		promise: "Shared grants that overlap have one token. It is larger than the token of each exclusive grant before, and smaller than the token of each exclusive grant after.",
		run:     sharedEpochToken,
	},
	{
		name:    "share-expires-alone",
		promise: "A shared grant that is not renewed expires alone. The other shared grants continue.",
		run:     shareExpiresAlone,
	},
	{
		name:    "shared-forced-release",
		promise: "A forced release ends all shared grants of a name. An inspection and a refusal say how many there are.",
		run:     sharedForcedRelease,
	},
	{
		name:    "shared-waiters-wake",
		promise: "After the holder's release, all waiters for a shared grant acquire the name at the same time.",
		run:     sharedWaitersWake,
	},
	{
		name:    "shared-waiter-wakes-the-next",
		promise: "If the backend declares that it notifies waiters, a release notifies all waiters for a shared grant, or each of them is notified when the waiter before it was granted.",
		run:     sharedWaiterWakesTheNext,
	},
}

// needShares skips a case if the backend declares that it grants no shared locks.
func (t *trial) needShares(b driver.Backend) {
	if !b.Capabilities().Shares {
		t.skipf("the backend grants no shared locks (driver.Capabilities.Shares)")
	}
}

// reading returns a request for a share of key with a fresh nonce.
func (t *trial) reading(key driver.Key) driver.Request {
	r := t.request(key)
	r.Shared = true
	return r
}

// needEpochs skips a case if the store keeps no tokens of shared grants.
func (t *trial) needEpochs(b driver.Backend, g driver.Grant) {
	if g.Token == 0 {
		t.skipf("the store keeps no tokens of shared grants (the backend is %s)", b.Capabilities().Backend)
	}
}

func sharedGrantsShare(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	key := t.key("x")
	one, two, three := t.grant(a, t.reading(key)), t.grant(a, t.reading(key)), t.grant(b, t.reading(key))
	t.release(a, one)
	t.release(a, one)
	t.isLost(a, one, "a grant that was released")
	t.isHeld(a, two)
	t.isHeld(b, three)
	for i, got := range t.renewAll(a, two, t.grant(a, t.reading(key)), t.grant(a, t.request(t.key("y")))) { // several grants of one name in one call
		if got != driver.Renewed {
			t.fatalf("renewal %d of three in one call: want renewed, got %s", i, got)
		}
	}
}

func sharedExcludes(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	key := t.key("x")
	one, two := t.grant(a, t.reading(key)), t.grant(b, t.reading(key))
	for _, g := range []struct {
		of driver.Backend
		driver.Grant
	}{{a, one}, {b, two}} {
		t.refuse(a, t.request(key))
		t.refuse(b, t.request(key))
		t.release(g.of, g.Grant)
	}
	alone := t.grant(a, t.request(key))
	t.refuse(a, t.reading(key))
	t.refuse(b, t.reading(key))
	t.isHeld(a, alone)
	t.release(a, alone)
	t.grant(b, t.reading(key))
}

func sharedSameNonce(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	first := t.reading(t.key("x"))
	g := t.grant(a, first)
	other := t.grant(b, t.reading(first.Key))
	for range 2 {
		if again := t.grant(a, first); again.Token != g.Token {
			t.fatalf("the same nonce was granted token %d and then %d", g.Token, again.Token)
		}
		first.Waiting = true
	}
	t.release(a, g)
	t.isLost(a, g, "a grant that was released")
	t.isHeld(b, other)
	t.release(b, other)
	t.grant(b, t.request(first.Key))
}

func sharedReplyLost(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	key := t.key("x")
	t.release(a, t.grant(a, t.reading(key))) // opens the connection, and prepares the statements
	r := t.reading(key)
	t.dropReply(a)
	ctx, cancel := t.withTimeout(attempt)
	defer cancel()
	if _, err := a.Acquire(ctx, r); errors.As(err, new(*driver.Held)) { // no error if the client repeated the request itself, or if another reply was lost
		t.fatalf("a request whose reply is lost is reported as a refusal: %v", err)
	}
	by := b
	if sessions(a) { // only the client whose connection holds the grant can end it
		by = a
	}
	t.poll("the release of a grant whose reply was lost", func() bool {
		err := by.Release(t.ctx, driver.Grant{Key: key, Nonce: r.Nonce, TTL: r.TTL, Shared: true})
		return err == nil || errors.Is(err, driver.ErrNotHeld)
	})
	t.grantAtLast(b, t.request(key))
}

func sharedEpochToken(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	key := t.key("x")
	before := t.grant(a, t.request(key))
	t.release(a, before)
	one := t.grant(a, t.reading(key))
	t.needEpochs(a, one)
	t.rises(before.Token, one.Token)
	two := t.grant(b, t.reading(key))
	t.release(a, one)
	three := t.grant(a, t.reading(key))
	if two.Token != one.Token || three.Token != one.Token {
		t.fatalf("three shared grants that overlap have the tokens %d, %d and %d", one.Token, two.Token, three.Token)
	}
	t.release(b, two)
	t.release(a, three)
	after := t.grant(b, t.request(key))
	t.rises(one.Token, after.Token)
	t.release(b, after)
	next := t.grant(a, t.reading(key))
	t.rises(after.Token, next.Token)
	t.release(a, next)
	t.rises(next.Token, t.grant(b, t.request(key)).Token)
}

func shareExpiresAlone(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	t.needTerm(a)
	key := t.key("x")
	stays, leaves := t.reading(key), t.reading(key)
	leaves.TTL = brief
	other := t.grant(b, stays)
	g := t.grant(a, leaves)
	sentinel := t.request(t.key("sentinel"))
	sentinel.TTL = brief
	t.grant(a, sentinel)
	sentinel.Nonce = driver.NewNonce()
	t.grantAtLast(a, sentinel) // the share was granted before sentinel, with the same TTL, so it has expired, too
	t.isLost(a, g, "a share that has expired")
	t.isHeld(b, other)
	t.refuse(a, t.request(key))
	t.release(b, other)
	t.grant(a, t.request(key))
}

func sharedForcedRelease(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	o := t.needOperator(a)
	key := t.key("x")
	one, two := t.grant(a, t.reading(key)), t.grant(b, t.reading(key))
	t.needEpochs(a, one)
	status := t.inspect(o, key)
	if status.State != driver.StateHeld || status.Readers != 2 || status.Token != one.Token {
		t.fatalf("an inspection of a name with two shared grants of token %d: %+v", one.Token, status)
	}
	if held := t.refuse(b, t.request(key)); held.Readers != 2 {
		t.fatalf("a refusal because of two shared grants says that there are %d", held.Readers)
	}
	var held *driver.Held
	if err := o.ForceRelease(t.ctx, key, one.Token, false); !errors.As(err, &held) || held.Readers != 2 {
		t.fatalf("want a refusal to end two live shared grants by force, with their number; got %v", err)
	}
	if err := o.ForceRelease(t.ctx, key, one.Token, true); err != nil {
		t.fatalf("forced release of a name with two shared grants: %v", err)
	}
	t.isLost(a, one, "a share that was ended by force")
	t.isLost(b, two, "a share that was ended by force")
	t.rises(one.Token, t.grant(b, t.request(key)).Token)
}

func sharedWaitersWake(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	name := t.key("x").Name
	lease := t.acquire(t.locker(a), name)
	readers := []*waiter{
		t.wait(t.ctx, t.locker(a, rowlock.Shared()), name),
		t.wait(t.ctx, t.locker(b, rowlock.Shared()), name),
	}
	t.handOn(lease)
	for _, r := range readers { // the first reader holds its grant while the second reader acquires
		t.has(r)
	}
	t.tryHeld(t.locker(b), name)
}

// subscriber is a client that waits for a shared grant and is subscribed to the notifications of the name.
type subscriber struct {
	driver.Backend
	request driver.Request
	woken   chan struct{}
	stop    func()
}

func (t *trial) subscriber(b driver.Backend, n driver.Notifier, key driver.Key) *subscriber {
	s := &subscriber{Backend: b, request: t.reading(key), woken: make(chan struct{}, 1)}
	s.request.Waits = true
	t.refuse(b, s.request)
	s.request.Waiting = true
	stop, err := n.Notify(t.ctx, key, func() {
		select {
		case s.woken <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.fatalf("subscribe to %q: %v", key, err)
	}
	s.stop = sync.OnceFunc(stop)
	t.cleanup(s.stop)
	t.refuse(b, s.request)
	return s
}

func sharedWaiterWakesTheNext(t *trial) {
	a, b, c := t.open(), t.open(), t.open()
	t.needShares(a)
	one, ok := b.(driver.Notifier)
	two, also := c.(driver.Notifier)
	if !ok || !also {
		t.skipf("the backend does not implement driver.Notifier")
	}
	g := t.grant(a, t.request(t.key("x")))
	first, second := t.subscriber(b, one, g.Key), t.subscriber(c, two, g.Key)
	if !b.Capabilities().Wakes { // some backends need a subscription to find out whether their store can notify
		t.skipf("the backend does not declare that it notifies waiters (driver.Capabilities)")
	}
	for _, s := range []*subscriber{first, second} {
		select {
		case <-s.woken: // the subscription itself may cause one notification
		default:
		}
	}
	t.release(a, g)
	firstWoken, secondWoken := first.woken, second.woken
	for range 2 { // the waiter that is notified first is granted first
		var s *subscriber
		select {
		case <-firstWoken:
			s, firstWoken = first, nil // a backend may notify a waiter twice
		case <-secondWoken:
			s, secondWoken = second, nil
		case <-time.After(t.patience):
			t.fatalf("a waiter for a shared grant was not notified within %s", t.patience)
		}
		t.grantAtLast(s, s.request)
		s.stop()
	}
	t.isHeldByReaders(a, g.Key, 2)
}

// isHeldByReaders checks that n shared grants of key exist, if the store knows their number.
func (t *trial) isHeldByReaders(b driver.Backend, key driver.Key, n int) {
	if held := t.refuse(b, t.request(key)); held.Readers != 0 && held.Readers != n {
		t.fatalf("a refusal because of %d shared grants says that there are %d", n, held.Readers)
	}
}
