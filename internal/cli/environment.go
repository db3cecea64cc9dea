package cli

import (
	"slices"
	"strings"

	"github.com/rowlock/rowlock"
)

// The variables that tell a command which lock it runs under.
const (
	envName      = "ROWLOCK_NAME"
	envToken     = "ROWLOCK_TOKEN" //nolint:gosec // a fencing token is no secret
	envHolder    = "ROWLOCK_HOLDER"
	envExpiresAt = "ROWLOCK_EXPIRES_AT"
	envLocks     = "ROWLOCK_LOCKS" // all of them, for "rowlock run" inside the command
)

// environment is a process environment in the form of os.Environ.
type environment []string

// get returns the value of name; of duplicates the last counts, as it does for os/exec.
func (e environment) get(name string) string {
	for _, entry := range slices.Backward(e) {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value
		}
	}
	return ""
}

// under is the environment of a command that runs under lease. What is inherited from an outer run
// is taken out, not only overridden: programs differ in which of two duplicates they read.
func (e environment) under(lease *rowlock.Lease, o outer) []string {
	const layout = "2006-01-02T15:04:05.000Z07:00"
	inner := []string{
		envName + "=" + lease.Name(),
		envToken + "=" + lease.Token().String(),
		envHolder + "=" + lease.Holder(),
		envExpiresAt + "=" + lease.ExpiresAt().UTC().Format(layout),
		envLocks + "=" + e.locks(o),
	}
	return append(e.without(envName, envToken, envHolder, envExpiresAt, envLocks), inner...)
}

// without is a copy that lacks these variables.
func (e environment) without(names ...string) environment {
	return slices.DeleteFunc(slices.Clone(e), func(entry string) bool {
		key, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, key)
	})
}

// nested says whether the environment is that of a command under a lock.
func (e environment) nested() bool { return e.get(envToken) != "" }
