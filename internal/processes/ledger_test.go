//go:build unix

package processes_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// link is one row of the ledger table: the value that its writer had read, and the value that it wrote.
type link struct {
	seq, token      int64
	nonce           string
	worker          int
	readVal, newVal int64
}

// follows reports whether the writer of the link l had read the link earlier.
func (l link) follows(earlier link) bool { return l.readVal == earlier.newVal }

// prepareChains creates an empty ledger.
func prepareChains(t *testing.T, d database, dsn string) *sql.DB {
	return d.prepare(t, dsn,
		"CREATE TABLE ledger (seq "+d.seq+", id integer NOT NULL, token bigint NOT NULL, nonce char(36) NOT NULL, worker integer NOT NULL, read_val bigint NOT NULL, new_val bigint NOT NULL)",
		"CREATE INDEX ledger_of_id ON ledger (id, seq)",
	)
}

// acknowledged returns the values of the links that the workers reported as committed.
func acknowledged(all []*process) map[int64]bool {
	acked := make(map[int64]bool)
	for _, p := range all {
		for _, e := range p.log {
			if e.What == wrote {
				acked[e.Last] = true
			}
		}
	}
	return acked
}

// ledger returns the chain of one name, in the order of the writes.
func (d database) ledger(t *testing.T, db *sql.DB, id int) (links []link) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), d.bind("SELECT seq, token, nonce, worker, read_val, new_val FROM ledger WHERE id = ? ORDER BY seq"), id)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var l link
		require.NoError(t, rows.Scan(&l.seq, &l.token, &l.nonce, &l.worker, &l.readVal, &l.newVal))
		links = append(links, l)
	}
	require.NoError(t, rows.Err())
	return links
}

// lostUpdates returns two numbers: of the links whose writers had not read the previous link, and of all links.
func (d database) lostUpdates(t *testing.T, db *sql.DB) (lostUpdates, total int) {
	t.Helper()
	for id := range names {
		var before link
		for _, l := range d.ledger(t, db, id) {
			if !l.follows(before) {
				lostUpdates++
			}
			before = l
			total++
		}
	}
	return lostUpdates, total
}

// requireUnbroken fails the test if a stale holder has written, if a writer had not read the newest link,
// or if a link that was reported as committed is missing. It returns the number of links.
func (d database) requireUnbroken(t *testing.T, db *sql.DB, acked map[int64]bool) (total int) {
	t.Helper()
	type holder struct {
		nonce  string
		worker int
	}
	found := 0
	for id := range names {
		owner := make(map[int64]holder)
		var before link
		for _, l := range d.ledger(t, db, id) {
			require.GreaterOrEqual(t, l.token, before.token, "chain %d: a stale write was accepted: %+v after %+v", id, l, before)
			require.True(t, l.follows(before), "chain %d: an update was lost: %+v after %+v", id, l, before)
			now := holder{l.nonce, l.worker}
			if first, ok := owner[l.token]; ok {
				require.Equal(t, first, now, "chain %d: token %d has two holders", id, l.token)
			}
			owner[l.token] = now
			if acked[l.newVal] {
				found++
			}
			before = l
			total++
		}
	}
	assert.Equal(t, len(acked), found, "links that were reported as committed are missing from the ledger")
	return total
}
