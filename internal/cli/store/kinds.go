package store

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// kind describes a kind of store without tables.
type kind struct {
	form    string // the form of its address, for messages
	port    string // the default port
	several bool   // true if an address may contain several servers
	// A text for messages. It names what two processes must have in common so that a lock in the store excludes one of
	// them: servers, and a prefix of keys or a path.
	reaches string
	Secure  bool // TLS
	options []string
	check   func(*KeyValue) error // validates the path and the options
	open    func(context.Context, *Store) error
	// forgets is true if the store stores nothing about a free lock, so that it cannot keep a lock closed after its
	// release.
	forgets bool
	// untimed is true if a lock ends with its session, so that its end cannot be predicted.
	untimed bool
}

// kinds maps the scheme of an address to the kind of store.
var kinds = map[string]kind{
	"redis":          redisKind("redis://HOST:PORT/DATABASE", false, false),
	"rediss":         redisKind("rediss://HOST:PORT/DATABASE", false, true),
	"redis+cluster":  redisKind("redis+cluster://HOST:PORT,HOST:PORT", true, false),
	"rediss+cluster": redisKind("rediss+cluster://HOST:PORT,HOST:PORT", true, true),
	"redlock":        redlockKind("redlock://HOST:PORT,HOST:PORT,HOST:PORT", false),
	"redlocks":       redlockKind("redlocks://HOST:PORT,HOST:PORT,HOST:PORT", true),
	"etcd":           etcdKind("etcd://HOST:PORT,HOST:PORT", false),
	"etcds":          etcdKind("etcds://HOST:PORT,HOST:PORT", true),
	"zk":             zookeeperKind("zk://HOST:PORT,HOST:PORT/ROOT", false),
	"zks":            zookeeperKind("zks://HOST:PORT,HOST:PORT/ROOT", true),
}

// openKeyValue sets the backend of s, a store without tables.
func (s *Store) openKeyValue(ctx context.Context) error {
	at := s.At.KeyValue
	if s.Table.String() != sqltable.Default {
		return exit.Usagef("--table: %s:// has no tables; to separate locks, use --namespace, or prefix= in --store", at.Scheme)
	}
	if err := at.open(ctx, s); err != nil {
		return err
	}
	if err := s.Backend.Capabilities().Invalid; err != nil {
		return exit.Usagef("--store: %w", err)
	}
	return nil
}

// RefuseKeyValue returns a usage error if the store has no tables. The parameter format is its text,
// with %s for the kind of store.
func (at Location) RefuseKeyValue(format string) error {
	if at.KeyValue == nil {
		return nil
	}
	return exit.Usagef("--store: "+format, at.KeyValue.Scheme+"://")
}

// withoutPath returns an error if the address has a path. Some kinds of store have no path.
func (at *KeyValue) withoutPath() error {
	if at.path != "" {
		return fmt.Errorf("only options may follow the servers of %s://: write %s", at.Scheme, at.form)
	}
	return nil
}
