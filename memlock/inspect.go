package memlock

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// List implements [driver.Operator].
func (b *Backend) List(_ context.Context, namespace string, all bool) ([]driver.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []driver.Status
	for key, l := range b.rows {
		if all || key.Namespace == namespace {
			list = append(list, b.status(key, l))
		}
	}
	slices.SortFunc(list, func(x, y driver.Status) int {
		return cmp.Or(cmp.Compare(x.Key.Namespace, y.Key.Namespace), cmp.Compare(x.Key.Name, y.Key.Name))
	})
	return list, nil
}

// Inspect implements [driver.Operator].
func (b *Backend) Inspect(_ context.Context, key driver.Key) (driver.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.rows[key]
	if l == nil {
		return driver.Status{Key: key}, nil
	}
	return b.status(key, l), nil
}

func (b *Backend) status(key driver.Key, l *row) driver.Status {
	now := b.now()
	s := driver.Status{
		Key: key, Token: l.token, Holder: l.holder, Note: l.note, Done: l.done, Waiters: len(b.watchers[key]), Readers: l.live(now),
		Age: now.Sub(l.acquired), ExpiresIn: l.expires.Sub(now), FreeIn: max(0, l.heldUntil.Sub(now)),
	}
	held := l.nonce != driver.Nonce{}
	switch {
	case held && now.Before(l.expires):
		s.State = driver.StateHeld
	case now.Before(l.heldUntil):
		s.State = driver.StateClosed
	case held:
		s.State = driver.StateExpired
	}
	s.KnowPause()
	return s
}

// ForceRelease implements [driver.Operator].
func (b *Backend) ForceRelease(_ context.Context, key driver.Key, token driver.Token, live bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	l := b.rows[key]
	if l == nil || l.token != token || l.nonce == (driver.Nonce{}) && !now.Before(l.heldUntil) {
		return driver.ErrNotHeld
	}
	if l.nonce != (driver.Nonce{}) && now.Before(l.expires) && !live {
		return l.refusal(now)
	}
	b.end(key, l, now)
	return nil
}

// end frees l and raises its token, so that the fence rejects the old holder.
func (b *Backend) end(key driver.Key, l *row, now time.Time) {
	l.nonce, l.readers, l.writers = driver.Nonce{}, nil, nil
	l.token = max(l.token+1, b.floor+1, driver.Token(now.UnixMicro()))
	l.expires = earlier(l.expires, now)
	l.heldUntil = time.Time{}
	b.wake(key)
}

// Lose ends the lease or pause on name in every namespace. The holder notices the loss at its next renewal.
func (b *Backend) Lose(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, l := range b.rows {
		if key.Name == name && l.nonce != (driver.Nonce{}) {
			b.end(key, l, b.now())
		}
	}
}

// Expire makes the lease on key expire now, as if its TTL were over.
func (b *Backend) Expire(key driver.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.rows[key]
	if l == nil {
		return
	}
	past := max(0, l.expires.Sub(b.now()))
	l.expires, l.heldUntil = l.expires.Add(-past), l.heldUntil.Add(-past)
	for nonce, expires := range l.readers {
		l.readers[nonce] = earlier(expires, b.now())
	}
}

// Prune implements [driver.Operator].
func (b *Backend) Prune(_ context.Context, unused time.Duration) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for key, l := range b.rows {
		if b.now().Sub(later(l.heldUntil, l.expires)) >= unused {
			b.floor = max(b.floor, l.token)
			delete(b.rows, key)
			n++
		}
	}
	return n, nil
}
