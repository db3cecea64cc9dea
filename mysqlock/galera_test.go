package mysqlock

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
)

// A node of a Galera cluster would grant a lock that another node has granted. So the backend refuses to lock
// on such a node, with and without tokens. The error says what to do. With SingleWriter the backend accepts the node.
// Its locks then exclude each other, and its tokens rise.
func TestGalera(t *testing.T) {
	t.Parallel()
	server, err := testserver.Start(t.Context(), testserver.Galera, testserver.Options{Logf: t.Logf})
	if testserver.Missing(err) && os.Getenv("ROWLOCK_REQUIRE") != "all" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	db := openDB(t, server.DSN)
	require.NoError(t, migrations.Up(limited(t), db, migrations.MySQL))
	s := store{dsn: server.DSN, raw: db, schema: "rowlock"}

	for _, b := range []*Backend{New(s.open(t)), New(s.open(t), NoToken())} {
		_, err := b.Acquire(limited(t), request("a"))
		require.ErrorContains(t, err, "Galera")
		require.ErrorContains(t, err, "use sqllock, or the option mysqlock.SingleWriter")
		assert.True(t, driver.IsPermanent(err))
		assert.Zero(t, s.holds(t, "a"))
		idle(t, b)
	}

	b := New(s.open(t), SingleWriter())
	first := grant(t, b, "a")
	_, err = New(s.open(t), SingleWriter(), NoToken()).Acquire(limited(t), request("a"))
	refused(t, err)
	_, err = b.Renew(limited(t), []driver.Grant{first})
	require.NoError(t, err)
	require.NoError(t, b.Release(limited(t), first))
	second, beside := grant(t, b, "a"), grant(t, b, "b")
	assert.Greater(t, second.Token, first.Token)
	require.NoError(t, b.Release(limited(t), second))
	require.NoError(t, b.Release(limited(t), beside))
	idle(t, b)
}
