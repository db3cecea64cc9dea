package mysqlock

import (
	"context"
	"database/sql"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// BenchmarkAcquireRelease measures one acquire and release. The baseline runs only the two SQL statements, on an open
// connection. The variants are the first lock of a connection, a lock on a connection that already holds another lock,
// and locks without tokens.
func BenchmarkAcquireRelease(b *testing.B) {
	for name, fresh := range map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		b.Run(name, func(b *testing.B) {
			s := newStore(b, fresh)
			for _, interpolate := range []bool{false, true} {
				label := map[bool]string{false: "prepared", true: "interpolated"}[interpolate]
				db := s.open(b, func(c *mysqldriver.Config) { c.InterpolateParams = interpolate })
				b.Run(label+"/floor", func(b *testing.B) { benchFloor(b, db) })
				b.Run(label+"/first", func(b *testing.B) { benchBackend(b, New(db), false) })
				b.Run(label+"/first-no-token", func(b *testing.B) { benchBackend(b, New(db, NoToken()), false) })
				b.Run(label+"/another", func(b *testing.B) { benchBackend(b, New(db), true) })
				b.Run(label+"/another-no-token", func(b *testing.B) { benchBackend(b, New(db, NoToken()), true) })
			}
		})
	}
}

func benchFloor(b *testing.B, db *sql.DB) {
	ctx := context.Background()
	c, err := db.Conn(ctx)
	require.NoError(b, err)
	defer c.Close()
	var n int
	for b.Loop() {
		require.NoError(b, c.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", "floor").Scan(&n))
		require.NoError(b, c.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", "floor").Scan(&n))
	}
}

func benchBackend(b *testing.B, backend *Backend, kept bool) {
	ctx := context.Background()
	if kept {
		g := grant(b, backend, "kept")
		defer func() { require.NoError(b, backend.Release(ctx, g)) }()
	}
	for b.Loop() {
		g, err := backend.Acquire(ctx, request("job"))
		require.NoError(b, err)
		require.NoError(b, backend.Release(ctx, g))
	}
}
