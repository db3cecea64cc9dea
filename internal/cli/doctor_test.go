package cli

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// A connection to a server on this machine is not encrypted, and doctor says that it stays on the machine.
func TestDoctorSeesThatAConnectionStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) string{"postgres": testenv.Postgres, "mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stdout, stderr := call(t, nil, "doctor", "--store", open(t))
			assert.Contains(t, stdout, "the connection is not encrypted, and does not leave this machine", stderr)
		})
	}
}

// A connection that may leave the machine, because one of several hosts is on another machine, is a warning.
func TestEncryptionIsToldOfEveryHost(t *testing.T) {
	t.Parallel()
	several, err := url.Parse(testenv.Postgres(t))
	require.NoError(t, err)
	several.Host += ",db.invalid:5432"
	_, stdout, stderr := call(t, nil, "doctor", "--store", several.String())
	assert.Contains(t, stdout, "the connection is not encrypted: others", stderr)
}
