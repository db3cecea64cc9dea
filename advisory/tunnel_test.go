package advisory_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
)

// tunnel is a connection that does not support deadlines, such as one through golang.org/x/crypto/ssh.
type tunnel struct{ net.Conn }

var errNoDeadline = errors.New("deadline not supported")

func (tunnel) SetDeadline(time.Time) error      { return errNoDeadline }
func (tunnel) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (tunnel) SetWriteDeadline(time.Time) error { return errNoDeadline }

func dig(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	return tunnel{c}, err
}

// A connection whose read cannot be interrupted is not read between statements. Locks on it are acquired, renewed and
// released, and the next heartbeat notices its end.
func TestATunnelWithoutDeadlines(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, dsn string) *advisory.Backend{
		"pgx": func(t *testing.T, dsn string) *advisory.Backend {
			return advisory.New(openPool(t, dsn, func(c *pgxpool.Config) { c.ConnConfig.DialFunc = dig }))
		},
		"stdlib": func(t *testing.T, dsn string) *advisory.Backend {
			config, err := pgx.ParseConfig(dsn)
			require.NoError(t, err)
			config.DialFunc = dig
			db := stdlib.OpenDB(*config)
			t.Cleanup(func() { _ = db.Close() })
			return advisory.NewDB(db)
		},
	} {
		compat := inCompat(t)
		if compat == (name == "pgx") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if compat {
				testenv.Compat(t)
			}
			t.Parallel()
			dsn := database(t)
			b, w := open(t, dsn), watch(t, dsn)
			first, second := acquire(t, b, "a"), acquire(t, b, "b")
			outcomes, err := b.Renew(limited(t), []driver.Grant{first, second})
			require.NoError(t, err)
			assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
			require.NoError(t, b.Release(limited(t), first))
			require.NoError(t, b.Release(limited(t), second))
			assert.Zero(t, w.locks())
			lease, err := locker(t, b, rowlock.RenewEvery(50*time.Millisecond)).Acquire(limited(t), "a")
			require.NoError(t, err)
			began := time.Now()
			w.terminate("a")
			lostWithin(t, lease, began, soon, anyReason)
		})
	}
}
