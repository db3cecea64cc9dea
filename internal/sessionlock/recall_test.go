package sessionlock

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// endless is the link of a session whose waits in the server's queue never end. It counts how often a connection was
// closed.
type endless struct {
	counted
	*Session[int]
	closed *int
}

func (endless) Connect(context.Context) error { return nil }
func (endless) Watches() bool                 { return false }
func (l endless) Ended() bool                 { return false }
func (l endless) Unwatch()                    {}
func (l endless) GiveBack()                   {}
func (l endless) Destroy()                    { *l.closed++ }

func (l endless) Await(ctx context.Context, _ *Holding[int]) (driver.Token, error) {
	<-ctx.Done()
	l.Broken = ctx.Err()
	return 0, ctx.Err()
}

// Promise: if the only connection waits in the server's queue, another request does not wait for the end of that wait.
// The waiter gets a refusal, and its connection is closed.
func TestARequestEndsTheWaitOfTheOnlyConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed := 0
		s := &Store[int]{
			Most: 1, Waiting: 1, KeyOf: func(driver.Key) int { return 1 }, Remedy: func(err error) error { return err },
			Link: func(se *Session[int]) Link[int] { return endless{Session: se, closed: &closed} },
		}
		ended := make(chan error, 1)
		go func() {
			r := driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), Waiting: true}
			_, err := s.Await(t.Context(), r, func(*driver.Held) context.Context { return t.Context() })
			ended <- err
		}()
		synctest.Wait()
		require.Empty(t, ended)
		require.False(t, s.Idle())
		se, err := s.anyTurn(t.Context())
		require.NoError(t, err)
		var held *driver.Held
		require.ErrorAs(t, <-ended, &held)
		require.Equal(t, 1, closed)
		require.NoError(t, se.Context().Err())
		se.Leave()
		require.True(t, s.Idle())
	})
}
