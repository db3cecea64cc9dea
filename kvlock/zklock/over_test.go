package zklock

import (
	"errors"
	"testing"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
)

// If the backend ends a session while a request starts on it, a retry with the same nonce uses another session.
func TestARequestOnASessionThatEndsIsMadeOnAnother(t *testing.T) {
	t.Parallel()
	b := New([]string{testenv.DSN(t, testenv.EngineZooKeeper)}, Root("/test-"+driver.NewNonce().String()))
	defer b.Close()
	r := driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: 20 * time.Second}
	warm, err := b.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(t.Context(), warm); err != nil {
		t.Fatal(err)
	}
	s, err := b.session(r.TTL)
	if err != nil {
		t.Fatal(err)
	}
	e := b.enter(s, r, admission{version: -1})
	if <-e.created; e.err != nil {
		t.Fatal(e.err)
	}
	s.finish(errUnproven)
	b.mu.Lock()
	b.entries[r.Nonce] = e // simulates a request that started just before the session ended, and that the backend recorded just after it
	b.mu.Unlock()
	var held *driver.Held
	for until := time.Now().Add(20 * time.Second); ; {
		_, err := b.Acquire(t.Context(), r)
		if err == nil {
			return
		}
		if !errors.As(err, &held) || time.Now().After(until) { // retries until the servers have ended the session
			t.Fatal(err)
		}
	}
}
