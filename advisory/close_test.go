package advisory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
)

// If a locker is closed while its server does not answer, the locker closes its connection after a short limit. It
// does not wait as long as a TTL, because nobody relies on the locks of a closed locker.
func TestCloseBeforeASilentServer(t *testing.T) {
	t.Parallel()
	dsn, proxy, err := through(database(t))
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	pool := openPool(t, dsn)
	l := locker(t, advisory.New(pool, advisory.Sessions(1)))
	for _, name := range []string{"a", "b", "c"} {
		_, err := l.Acquire(t.Context(), name)
		require.NoError(t, err)
	}
	w := watcher{tb: t}
	proxy.Cut()
	_ = l.Close()
	w.becomes("the connection is closed", func() bool { return pool.Stat().AcquiredConns() == 0 })
}
