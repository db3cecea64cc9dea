package sessionlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// silent is the link of a session whose server does not answer.
type silent struct {
	counted
	watches bool
}

func (silent) Connect(context.Context) error { return nil }
func (s silent) Watches() bool               { return s.watches }

// Promise: a call returns answerLimit after its context at the latest, and at once if the driver may ignore contexts.
func TestRunWithoutAnswer(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	for name, test := range map[string]struct {
		watches bool
		ends    time.Duration
	}{
		"a prompt driver":                   {true, timeout + answerLimit},
		"a driver that may ignore contexts": {false, timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				link := silent{counted{returned: new(int)}, test.watches}
				s := &Store[int]{Most: 1, Link: func(*Session[int]) Link[int] { return link }}
				se, err := s.anyTurn(t.Context())
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				began := time.Now()
				var limit time.Duration
				err = se.Run(ctx, nil, func(work context.Context) error {
					<-work.Done()
					limit = time.Since(began)
					return work.Err()
				})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, test.ends, time.Since(began))
				synctest.Wait()
				time.Sleep(answerLimit)
				synctest.Wait()
				require.Equal(t, timeout+answerLimit, limit)
				require.Equal(t, 1, *link.returned)
			})
		})
	}
}
