package fence_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/migrations"
)

// A database without room counts as unavailable, and seals nothing: it has not answered. A candidate of Lead campaigns
// again.
func TestAFullDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		if e.dialect == migrations.SQLite { // compat_test/torture fills the disks of the others
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
