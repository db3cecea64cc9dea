package cli

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// A connection that leaves the machine without TLS is a warning with what to write; one that stays on it is fine.
func TestEncryptionIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version  string
		hosts    []string
		severity string
	}{
		{"TLSv1.3", []string{"db.internal:5432"}, fine},
		{"", []string{"127.0.0.1:6379", "[::1]:6379", "localhost"}, fine},
		{"", []string{"/var/run/postgresql"}, fine},
		{"", []string{"127.0.0.1:6379", "db.internal:6379"}, warning},
		{"", []string{"10.0.0.7"}, warning},
	} {
		r := &report{}
		r.encryption(c.version, c.hosts, "write it")
		assert.Equal(t, c.severity, r.Findings[0].Severity, "%+v", c)
	}
	assert.Equal(t, "rediss+cluster", secureScheme("redis+cluster"))
	assert.Equal(t, "etcds", secureScheme("etcd"))
	several, err := url.Parse(testenv.Postgres(t))
	require.NoError(t, err)
	several.Host += ",db.invalid:5432"
	_, stdout, stderr := call(t, nil, "doctor", "--store", several.String())
	assert.Contains(t, stdout, "the connection is not encrypted: everybody", stderr)
	for name, open := range map[string]func(testing.TB) string{"postgres": testenv.Postgres, "mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stdout, stderr := call(t, nil, "doctor", "--store", open(t))
			assert.Contains(t, stdout, "the connection is not encrypted, and does not leave this machine", stderr)
		})
	}
}
