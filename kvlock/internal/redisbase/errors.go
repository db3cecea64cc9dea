package redisbase

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

const missingRight = "the account needs EVAL and EVALSHA, what the scripts run (HDEL among others), SCAN to list, SUBSCRIBE to be notified, and the keys and channels of the prefix"

// remedies are answers of a server that no repetition mends, by how they begin, and what does.
var remedies = []struct{ begin, remedy string }{
	{"WRONGTYPE", "the key is not a lock of rowlock, but of another library or program: choose another Prefix"},
	{"NOPERM", missingRight},
	{"ERR The user executing the script can't", missingRight}, // Redis 7.0
	{"ERR ACL failure in script", missingRight},
	{"NOAUTH", "the client gives no password"},
	{"WRONGPASS", "the account or its password is wrong"},
	{"ERR unknown command", "this service forbids a command that locks need"},
	{"CROSSSLOT", "the server is part of a Cluster: use redis.NewClusterClient"},
	{"MOVED", "the server is part of a Cluster: use redis.NewClusterClient"},
}

// Classify marks what a server refuses for good. Every other failure is left as unknown: go-redis sends a
// request again by itself, so that the last answer says nothing of the first attempt.
func Classify(err error) error {
	var said redis.Error
	if !errors.As(err, &said) {
		return err
	}
	for _, r := range remedies {
		if strings.HasPrefix(said.Error(), r.begin) {
			return driver.Permanent(fmt.Errorf("%s: %w", r.remedy, err))
		}
	}
	return err
}

// Describe says which package was doing what.
func Describe(ctx context.Context, pkg, operation string, key driver.Key, err error) error {
	if key.Name != "" {
		operation = fmt.Sprintf("%s %q", operation, key)
	}
	err = fmt.Errorf("%s: %s: %w", pkg, operation, err)
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
