package sessionlock

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// nowhere is the link of a session that has no connection. The test only reserves and leaves sessions.
type nowhere struct{ Link[int] }

func (nowhere) Ended() bool { return false }
func (nowhere) Unwatch()    {}
func (nowhere) GiveBack()   {}

// A session without locks returns its connection, even if one goroutine leaves it while another goroutine stops
// waiting for it.
func TestAnUnusedSessionReturnsItsConnection(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50000 {
		s := &Store[int]{Most: 1, Link: func(*Session[int]) Link[int] { return nowhere{} }}
		se, err := s.anyTurn(t.Context())
		require.NoError(t, err)
		se.waiting++
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if se.wait(over) == nil {
				se.Leave()
			}
		}()
		se.Leave()
		<-gone
		require.True(t, s.Idle())
	}
}
