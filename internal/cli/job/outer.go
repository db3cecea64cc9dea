package job

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/inherit"
)

// The environment variables that describe to a command the lock under which it runs.
const (
	envName      = "ROWLOCK_NAME"
	envToken     = "ROWLOCK_TOKEN" //nolint:gosec // a fencing token is no secret
	EnvHolder    = "ROWLOCK_HOLDER"
	envExpiresAt = "ROWLOCK_EXPIRES_AT"
	envSlot      = "ROWLOCK_SLOT"
	envTick      = "ROWLOCK_TICK"
	envLocks     = "ROWLOCK_LOCKS" // all locks under which the command runs, if runs are nested
)

// Outer describes a lock under which this process runs. The "rowlock run" that holds the lock waits for this process to
// end.
type Outer struct {
	store           string // a hash that identifies the store
	namespace, name string
	holder          string
	token           rowlock.Token
}

// Outers returns the locks that the variable ROWLOCK_LOCKS names, the outermost first. It skips malformed entries,
// because another program may have written them.
func Outers(e system.Environment) []Outer {
	var list []Outer
	for entry := range strings.FieldsSeq(e.Get(envLocks)) {
		words := strings.Split(entry, ":")
		if len(words) != 5 {
			continue
		}
		for i := range words {
			words[i], _ = url.QueryUnescape(words[i])
		}
		token, err := strconv.ParseInt(words[4], 10, 64)
		if err == nil {
			list = append(list, Outer{words[0], words[1], words[2], words[3], rowlock.Token(token)})
		}
	}
	return list
}

// String returns the entry for o in the variable ROWLOCK_LOCKS.
func (o Outer) String() string {
	words := []string{o.store, o.namespace, o.name, o.holder, o.token.String()}
	for i := range words {
		words[i] = url.QueryEscape(words[i])
	}
	return strings.Join(words, ":")
}

// OuterOf returns the Outer of a lease. The parameter store is the hash of its store.
func OuterOf(store string, lease *rowlock.Lease) Outer {
	return Outer{store, lease.Namespace(), lease.Name(), lease.Holder(), lease.Token()}
}

// Itself checks whether this process would wait for itself. The parameter list contains the locks under which this
// process runs. If the parameter held describes one of them, Itself returns a usage error. Otherwise it returns nil. If
// the store does not report the token, Itself compares only the stores and the names. If readers hold the lock, they
// all have the same token, and the store reports the holder of only one reader. So Itself does not compare the holders
// of readers.
func Itself(list []Outer, store string, held *rowlock.HeldError) error {
	for _, o := range list {
		if held == nil || o.namespace != held.Namespace || o.name != held.Name {
			continue
		}
		if o.token == held.Token && (o.holder == held.Holder || held.Readers > 0) || held.Token == 0 && o.store == store {
			return exit.Usagef("%q is held by the \"rowlock run\" that started this command (token %s), so this wait would never end: remove this inner lock, or name another lock",
				held.Name, o.token)
		}
	}
	return nil
}

// locks returns the value of ROWLOCK_LOCKS with o added.
func locks(e system.Environment, o Outer) string {
	return strings.TrimSpace(fmt.Sprint(e.Get(envLocks), " ", o))
}

// Within returns a usage error if this process runs under one of the locks with these names, and nil otherwise. The
// names are the slots for which the process is about to wait. If the process already has one of the slots, it may wait
// for itself.
func Within(list []Outer, store, namespace string, names []string) error {
	for _, o := range list {
		if o.store == store && o.namespace == namespace && slices.Contains(names, o.name) {
			return exit.Usagef("the \"rowlock run\" that started this command holds %q (token %s), which is one of these slots, so this wait might never end: remove this inner lock, or name another lock",
				o.name, o.token)
		}
	}
	return nil
}

// under returns the environment of a command that runs under the lease. It replaces the variables of an outer run. If a
// variable occurred twice, some programs would read the first value and others the last.
func under(e system.Environment, lease *rowlock.Lease, o Outer, slot string, children *Children) system.Environment {
	const layout = "2006-01-02T15:04:05.000Z07:00"
	inner := []string{
		envName + "=" + lease.Name(),
		envToken + "=" + lease.Token().String(),
		EnvHolder + "=" + lease.Holder(),
		envExpiresAt + "=" + lease.ExpiresAt().UTC().Format(layout),
		envLocks + "=" + locks(e, o),
	}
	if slot != "" {
		inner = append(inner, envSlot+"="+slot)
	}
	if children != nil {
		inner = append(inner, inherit.Variable+"="+children.lease.String())
	}
	if tick := lease.Tick(); tick != "" {
		inner = append(inner, envTick+"="+tick)
	}
	return append(e.Without(envName, envToken, EnvHolder, envExpiresAt, envLocks, envSlot, envTick, inherit.Variable), inner...)
}

// Nested reports whether e is the environment of a command that "rowlock run" has started.
func Nested(e system.Environment) bool { return e.Get(envToken) != "" }
