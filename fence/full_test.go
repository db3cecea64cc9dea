package fence_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/migrations"
)

// If the disk of the database is full, the error of Seal is a rowlock.ErrUnavailable and nothing is sealed. After such
// an error, Lead tries to acquire the lock again.
func TestAFullDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		if e.dialect == migrations.SQLite { // the tests in compat_test/torture fill the disks of the other databases
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				fill(t, e.fresh(t))
			})
		}
	}
}

func fill(t *testing.T, s *store) {
	t.Helper()
	lease := s.lease(t, "r")
	s.db.SetMaxOpenConns(1)
	s.exec(t, fmt.Sprintf("PRAGMA max_page_count = %d", s.int(t, "PRAGMA page_count")))
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprint(strings.Repeat("x", 200), i))
	}
	require.ErrorIs(t, s.guard.Seal(t.Context(), lease, many...), rowlock.ErrUnavailable)
	require.Zero(t, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
	s.exec(t, "PRAGMA max_page_count = 1000000")
	require.NoError(t, s.guard.Seal(t.Context(), lease, many...))
}
