package cli

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// If the connection to a server on this machine is not encrypted, doctor says that the connection does not leave the
// machine.
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

// If one of several hosts in the address is another machine, doctor warns that the connection is not encrypted.
func TestEncryptionIsToldOfEveryHost(t *testing.T) {
	t.Parallel()
	several, err := url.Parse(testenv.Postgres(t))
	require.NoError(t, err)
	several.Host += ",db.invalid:5432"
	_, stdout, stderr := call(t, nil, "doctor", "--store", several.String())
	assert.Contains(t, stdout, "the connection is not encrypted: others", stderr)
}
