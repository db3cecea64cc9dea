package inherit

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slow is a lease whose renewals take a second.
type slow struct {
	mu       sync.Mutex
	renewals int
	sent     time.Time
}

func (s *slow) Renew(context.Context) error {
	s.mu.Lock()
	s.renewals++
	s.sent = time.Now()
	s.mu.Unlock()
	time.Sleep(time.Second)
	return nil
}

func (s *slow) ExpiresAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.Add(20 * time.Second)
}

func (s *slow) sentSoFar() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewals
}

func (s *slow) Context() context.Context { return context.Background() }

// Any number of requests that arrive while a renewal is in progress cause one more renewal. That renewal is sent after
// all of them have arrived, so its trust counts from then on.
func TestOneRenewalAnswersManyChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lease := &slow{}
		s := &Server{lease: lease, over: t.Context(), sending: make(chan struct{}, 1)}
		ask := func() {
			before := time.Now()
			trust, err := s.confirm()
			require.NoError(t, err)
			assert.Equal(t, 20*time.Second, trust)
			assert.False(t, before.Add(trust).After(lease.ExpiresAt()))
		}
		go ask()
		time.Sleep(time.Second / 2)
		for range 20 {
			go ask()
		}
		synctest.Wait()
		assert.Equal(t, 1, lease.sentSoFar())
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.Equal(t, 2, lease.sentSoFar(), "one for the first request, and one for the others")
		go ask()
		time.Sleep(3 * time.Second)
		assert.Equal(t, 3, lease.sentSoFar())
	})
}
