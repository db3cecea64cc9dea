package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// doctor warns of an unencrypted connection to another machine, and names the setting to add. doctor does not warn of
// an unencrypted connection that stays on this machine.
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
		r := &Report{}
		r.encryption(c.version, c.hosts, "write it")
		assert.Equal(t, c.severity, r.Findings[0].Severity, "%+v", c)
	}
	assert.Equal(t, "rediss+cluster", secureScheme("redis+cluster"))
	assert.Equal(t, "etcds", secureScheme("etcd"))
}
