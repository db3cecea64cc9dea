package mysqlock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// Tokens come from UUID_SHORT, a counter in the memory of the server. It rises with each call, and begins with the
// second in which the server was started. A restart, a failover or a restored backup may let it fall. So one row, the
// mint, says how to make a token from a number of the counter, and which tokens are reserved. The row is written when
// a run of the server makes its first token, and then once for reservedTokens tokens.

// reservedTokens is how many tokens one write of the mint reserves. That many microseconds, 66 ms, the reserved tokens may
// be ahead of the clock. So even if a crash loses the last write of the row, the tokens of the next run are larger.
const reservedTokens = 1 << 16

// mint is the row from which all sessions make tokens.
type mint struct {
	run      string // the server and the second in which it was started
	number   int64  // the number of UUID_SHORT with which the run began to make tokens
	token    int64  // the token for that number
	reserved int64  // no larger token has been granted, by any run
}

// reading is what a session reads from the server.
type reading struct {
	run    string
	number int64 // of UUID_SHORT
	clock  int64 // microseconds since 1970
}

// known reports whether m was read. The name of a run is never empty.
func (m mint) known() bool { return m.run != "" }

// of returns the token for a number, and whether the token is reserved.
func (m mint) of(number int64) (driver.Token, bool) {
	token := m.token + number - m.number
	return driver.Token(token), token <= m.reserved
}

// serves reports whether the mint was made in the run of r. Two runs may have begun in the same second, if the clock
// was set back. The counter of the second run then begins with smaller numbers.
func (m mint) serves(r reading) bool { return m.run == r.run && m.number <= r.number }

// more returns the mint of the same run with tokens reserved beyond that of number.
func (m mint) more(number int64) mint {
	token, _ := m.of(number)
	m.reserved = max(m.reserved, int64(token)+reservedTokens)
	return m
}

// next returns the mint of another run. Its tokens begin above all tokens that were reserved. They also begin above the
// clock, in case the row is older than the last grants: it may come from a backup, or from a replica that lagged behind.
func (m mint) next(r reading) mint {
	token := max(m.reserved+1, r.clock)
	return mint{run: r.run, number: r.number, token: token, reserved: token + reservedTokens}
}

// minting returns the mint for the connection, and a number for its next token. It writes the row only if this run of
// the server has made no token yet.
func (b *Backend) minting(ctx context.Context, c *conn) (mint, int64, error) {
	var m mint
	var r reading
	err := c.query(ctx, b.sql["minted"], nil, &m.run, &m.number, &m.token, &m.reserved)
	if err == nil {
		err = c.query(ctx, b.sql["run"], nil, &r.run, &r.number, &r.clock)
	}
	if err != nil || m.serves(r) {
		return m, r.number, noMint(err)
	}
	return b.reserve(ctx, c)
}

// mintOne returns a new token, which is larger than all granted ones.
func (b *Backend) mintOne(ctx context.Context, c *conn) (driver.Token, error) {
	m, number, err := b.minting(ctx, c)
	if token, reserved := m.of(number); reserved || err != nil {
		return token, err
	}
	m, number, err = b.reserve(ctx, c)
	token, _ := m.of(number)
	return token, err
}

// reserveLimit is how long reserve tries to lock the row. It is short, because the session may hold other locks, whose
// heartbeats wait meanwhile.
const reserveLimit = time.Second

// reserve writes the mint, in a transaction on c. It returns the new mint and a number that the server made after the
// row was locked.
func (b *Backend) reserve(ctx context.Context, c *conn) (m mint, number int64, err error) {
	for end := time.Now().Add(reserveLimit); ; {
		m, number, err = b.tryReserve(ctx, c)
		if code := sqlerror.MySQL(err); code != lockedRow && code != lockedRowMariaDB || time.Now().After(end) {
			return m, number, err
		}
		backoff.Sleep(ctx, 5*time.Millisecond)
	}
}

// Errors of a NOWAIT statement if another transaction has locked the row.
const (
	lockedRow        = 3572
	lockedRowMariaDB = 1205
)

// tryReserve makes one attempt of reserve. It ends the transaction with a statement, because go-sql-driver ignores the
// context of a commit.
func (b *Backend) tryReserve(ctx context.Context, c *conn) (m mint, number int64, err error) {
	if _, err := c.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return mint{}, 0, err
	}
	m, number, err = b.reserveIn(ctx, c)
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	_, ended := c.ExecContext(ctx, end)
	return m, number, cmp.Or(err, ended)
}

// reserveIn writes the mint in the open transaction of c.
func (b *Backend) reserveIn(ctx context.Context, c *conn) (m mint, number int64, err error) {
	var r reading
	if err := c.QueryRowContext(ctx, b.sql["minted_for_update"]).Scan(&m.run, &m.number, &m.token, &m.reserved); err != nil {
		return mint{}, 0, noMint(err)
	}
	read := func() error { return c.QueryRowContext(ctx, b.sql["run"]).Scan(&r.run, &r.number, &r.clock) }
	if err := read(); err != nil {
		return mint{}, 0, err
	}
	switch {
	case m.reserved > math.MaxInt64-2*reservedTokens:
		return mint{}, 0, driver.Permanent(errNoTokens)
	case m.serves(r):
		m = m.more(r.number)
	default:
		// This comes after the decision, because it makes the numbers as large as those of an earlier run of the same second.
		if _, err := c.ExecContext(ctx, b.sql["advance"]); err != nil {
			return mint{}, 0, err
		}
		if err := read(); err != nil {
			return mint{}, 0, err
		}
		m = m.next(r)
	}
	_, err = c.ExecContext(ctx, b.sql["mint"], m.run, m.number, m.token, m.reserved)
	return m, r.number, err
}

func noMint(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return driver.Permanent(errors.New("the table of the mint has no row: it was emptied: run `rowlock migrate down` and `rowlock migrate up`"))
	}
	return err
}
