package redisbase

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The reply to INFO decides whether a server may keep locks. If the reply does not contain a fact, the server is not
// refused because of that fact. Valkey passes the check of the version, because it reports the version of Redis from
// which it was forked.
func TestRefusals(t *testing.T) {
	for said, want := range map[string]string{
		"redis_version:6.2.14\r\nrole:master":                                      "Redis 6.2.14",
		"redis_version:5.0.3":                                                      "Redis 7 or newer",
		"redis_version:7.0.15\r\nrole:slave":                                       "replica",
		"redis_version:7.0.15\r\nrole:master\r\ncluster_enabled:1":                 "NewClusterClient",
		"redis_version:7.0.15\r\nmaxmemory_policy:allkeys-lru":                     "noeviction",
		"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.0":        "",
		"redis_version:10.0.0\r\nrole:master":                                      "",
		"# Server\r\nredis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\n\r\n#": "",
		"": "",
	} {
		err := ParseInfo(said).Refusal(false, false)
		if want == "" {
			assert.NoError(t, err, said)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	assert.NoError(t, ParseInfo("maxmemory_policy:allkeys-lru").Refusal(false, true))
	assert.NoError(t, ParseInfo("cluster_enabled:1").Refusal(true, false))
}
