//go:build unix

package processes_test

import (
	"cmp"
	"database/sql"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
)

// grant is one lease, according to the events of its worker.
type grant struct {
	token          rowlock.Token
	worker         int
	asked, granted int64
	trusted        int64 // the time of the last check at which the worker found its lease valid
}

// enough is the number of grants that a run must exceed. A run with fewer grants shows nothing.
const enough = 50

// check fails the test if the events of the workers or the contents of the tables contradict a promise.
func check(t *testing.T, d database, db *sql.DB, all []*process) {
	t.Helper()
	grants := make(map[int][]*grant)
	var counts, refused int
	for _, p := range all {
		var since int64
		var g *grant
		for _, e := range p.log {
			switch e.What {
			case asked:
				since = e.At
			case granted:
				g = &grant{token: e.Token, worker: p.Worker, asked: since, granted: e.At, trusted: e.At}
				grants[p.name()] = append(grants[p.name()], g)
			case trusted:
				g.trusted = e.At
			case counted:
				counts++
			case stale:
				refused++
			}
		}
	}
	total := 0
	for name, of := range grants {
		slices.SortFunc(of, func(a, b *grant) int { return cmp.Compare(a.token, b.token) })
		for i := 1; i < len(of); i++ {
			a, b := of[i-1], of[i]
			require.Less(t, a.token, b.token, "name %d: a token was granted twice, to workers %d and %d", name, a.worker, b.worker)
			assert.LessOrEqual(t, a.asked, b.granted, "name %d: token %d was granted before token %d was requested", name, b.token, a.token)
			assert.LessOrEqual(t, a.trusted, b.granted, "name %d: token %d was trusted after token %d was granted", name, a.token, b.token)
		}
		total += len(of)
	}
	inLedger := checkLedger(t, d, db)
	assert.GreaterOrEqual(t, inLedger, counts, "an acknowledged count is missing from the ledger")
	t.Logf("%d grants, %d counts, %d stale writes rejected", total, inLedger, refused)
	assert.Greater(t, total, enough, "too few grants to prove anything")
}

// checkLedger fails the test if a count is missing, a token decreases, or two workers have the same token.
// It returns the number of counts.
func checkLedger(t *testing.T, d database, db *sql.DB) int {
	t.Helper()
	total := 0
	for name := range names {
		rows, err := db.QueryContext(t.Context(), d.bind("SELECT n, token, worker FROM ledger WHERE id = ? ORDER BY n"), name)
		require.NoError(t, err)
		owner := make(map[rowlock.Token]int)
		var before rowlock.Token
		n := int64(0)
		for rows.Next() {
			var at, token int64
			var worker int
			require.NoError(t, rows.Scan(&at, &token, &worker))
			n++
			require.Equal(t, n, at, "a count is missing")
			require.GreaterOrEqual(t, rowlock.Token(token), before, "a stale write was accepted")
			before = rowlock.Token(token)
			if first, ok := owner[before]; ok {
				require.Equal(t, first, worker, "token %d has two holders", before)
			}
			owner[before] = worker
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		var newest, counter int64
		require.NoError(t, db.QueryRowContext(t.Context(), d.bind("SELECT token, n FROM counter WHERE id = ?"), name).Scan(&newest, &counter))
		require.Equal(t, n, counter, "the counter differs from the length of the ledger")
		total += int(n)
	}
	return total
}
