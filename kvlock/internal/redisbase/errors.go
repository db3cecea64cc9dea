package redisbase

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

const missingRight = "the account needs EVAL and EVALSHA, the commands of the scripts (such as HDEL), SCAN to list locks, SUBSCRIBE for notifications, and the keys and channels of the prefix"

// remedies lists the server errors that a retry cannot fix. The field begin is the beginning of the error's text, and
// the field remedy tells the operator what to change.
var remedies = []struct{ begin, remedy string }{
	{"WRONGTYPE", "the key is not a rowlock lock, but belongs to another library or program: choose another Prefix"},
	{"NOPERM", missingRight},
	{"ERR The user executing the script can't", missingRight}, // Redis 7.0
	{"ERR ACL failure in script", missingRight},
	{"NOAUTH", "the client sent no password"},
	{"WRONGPASS", "the account or its password is wrong"},
	{"ERR unknown command", "the server does not allow a command that locks need"},
	{"CROSSSLOT", "the server is part of a Cluster: use redis.NewClusterClient"},
	{"MOVED", "the server is part of a Cluster: use redis.NewClusterClient"},
}

// Classify marks errors that a retry cannot fix as permanent. After any other error, the outcome of the request is
// unknown, even if the server replied with an error. go-redis retries requests by itself, so the reply to its last
// attempt does not tell whether the first attempt was executed.
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

// Describe adds the package, the operation and the lock's name to err. If ctx has ended, it also adds the error of ctx.
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
