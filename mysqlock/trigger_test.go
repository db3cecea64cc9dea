package mysqlock

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// If a trigger on the table of tokens overwrites LAST_INSERT_ID, Acquire returns an error that says so,
// and no lock stays held.
func TestATriggerOnTheTokens(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		for _, statement := range []string{
			"CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, token BIGINT NOT NULL)",
			"CREATE TRIGGER audit_tokens AFTER INSERT ON rowlock_lease_counter FOR EACH ROW INSERT INTO audit (token) VALUES (NEW.token)",
		} {
			_, err := s.raw.ExecContext(limited(t), statement)
			require.NoError(t, err)
		}
		b := New(s.open(t))
		_, err := b.Acquire(limited(t), request("a"))
		require.ErrorIs(t, err, errHidden)
		assert.True(t, driver.IsPermanent(err))
		assert.Zero(t, s.holds(t, "a"))
		idle(t, b)
	})
}
