package rowlock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Within a burst a name goes from holder to holder of one process without becoming free, so nobody else gets
// it. The number bounds what a waiter of another process loses to holders of a moment: with fewer, the request
// that ends a burst and the one that begins the next weigh more; with more, little is saved yet. The time bounds
// it for holders who work longer, to whom one request more or less is nothing.
const (
	longestBurst = 100 * time.Millisecond
	mostHanded   = 16
)

// burst is how a lease came to its process: through the store, or by how many hand-overs in a row since then.
type burst struct {
	began  instant // when the first of its leases, which came through the store, was asked for
	handed int
}

// offer is a lease on its way from its holder to the first of this process who waits for the name. Whoever
// takes it says what became of the release, once.
type offer struct {
	ctx   context.Context // ends when the release has lasted long enough
	from  driver.Grant
	burst burst      // that the next lease is part of
	ended chan error // holds one: nil, errKept, or anything else if the lease may have ended
}

var errKept = errors.New("the lease was not handed over")

// passOn ends the lease: by handing it over to the first of this process who waits for the name, which it says,
// or else by letting it go.
func (le *Lease) passOn(ctx context.Context, plain bool, now instant) (handed bool, err error) {
	var offers chan *offer
	if plain && le.mayPassOn(now) {
		offers = le.locker.queues.offers(le.grant.Key)
	}
	if offers == nil {
		return false, le.letGo(ctx, false)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout(le.grant.TTL))
	defer cancel()
	defer context.AfterFunc(le.locker.patience, cancel)()
	o := &offer{ctx: ctx, from: le.grant, burst: le.burst, ended: make(chan error, 1)}
	if o.burst.handed == 0 {
		o.burst.began = le.granted
	}
	o.burst.handed++
	select {
	case offers <- o:
	default: // nobody rests
		return false, le.letGo(ctx, false)
	}
	select {
	case err = <-o.ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		return true, nil
	}
	return false, le.letGo(ctx, !errors.Is(err, errKept))
}

// mayPassOn says whether the store is to be passed by.
func (le *Lease) mayPassOn(now instant) bool {
	began := le.burst.began
	if le.burst.handed == 0 {
		began = le.granted
	}
	return le.locker.handing != nil && le.locker.closing.Err() == nil &&
		le.burst.handed < mostHanded && now.since(began) < longestBurst &&
		(le.grant.MinHold == 0 || now.since(le.granted) > le.grant.MinHold)
}

// offers is where the first who waits for key takes leases, if there is one who has rested.
func (q *queues) offers(key driver.Key) chan *offer {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.byKey[key]; of != nil {
		return of.offers
	}
	return nil
}
