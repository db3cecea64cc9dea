package cli

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/memlock"
)

// leaving is a backend whose store becomes unreachable after the first request.
type leaving struct {
	*memlock.Backend

	asked int
	tired context.CancelFunc // ends the wait after too many requests
}

func (l *leaving) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	if l.asked++; l.asked == 1 {
		return l.Backend.Inspect(ctx, key)
	}
	if l.asked > 200 {
		l.tired()
	}
	return driver.Status{}, errors.New("away")
}

// "rowlock wait" ends after --timeout even if the store is unreachable. The exit code is then that of an unavailable
// store and not that of a held lock, because the state of the lock is unknown.
func TestAWaitEndsWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	away := &leaving{Backend: memlock.New(), tired: cancel}
	l, err := rowlock.New(away.Backend)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	_, err = l.Acquire(ctx, "job")
	require.NoError(t, err)

	a := &app{log: terminal.NewMessages(t.Output(), terminal.FormatText, false)}
	const limit = 2 * time.Second
	_, err = a.awaitFree(ctx, &store.Store{Backend: away}, driver.Key{Name: "job"}, limit, a.newWaiting(limit))
	require.ErrorContains(t, err, "away")
	assert.Equal(t, exit.Unavailable, exit.Code(err))
	assert.NoError(t, ctx.Err(), "it polled without a delay")
}
