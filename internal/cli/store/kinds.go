package store

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// kind is a kind of store without tables.
type kind struct {
	form    string // how its address is written
	port    string // the default port
	several bool   // an address may have several servers
	reaches string // a lock excludes the processes that use this
	Secure  bool   // TLS
	options []string
	check   func(*KeyValue) error // of the path and the options
	open    func(context.Context, *Store) error
	// forgets says that the store keeps nothing about a free lock. So it cannot keep a name closed.
	forgets bool
	// untimed says that a lock is held as long as its session lives, and that its end cannot be predicted.
	untimed bool
}

// kinds maps schemes to kinds.
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

// openKeyValue makes the backend of a store without tables.
func (s *Store) openKeyValue(ctx context.Context) error {
	at := s.At.KeyValue
	if s.Table.String() != sqltable.Default {
		return exit.Usagef("--table: %s:// has no tables; --namespace keeps names apart, and prefix= in --store whole sets of locks", at.Scheme)
	}
	if err := at.open(ctx, s); err != nil {
		return err
	}
	if err := s.Backend.Capabilities().Invalid; err != nil {
		return exit.Usagef("--store: %w", err)
	}
	return nil
}

// RefuseKeyValue returns an error for a command that needs tables.
func (at Location) RefuseKeyValue(format string) error {
	if at.KeyValue == nil {
		return nil
	}
	return exit.Usagef("--store: "+format, at.KeyValue.Scheme+"://")
}

// withoutPath returns an error if there is a path, which this kind does not have.
func (at *KeyValue) withoutPath() error {
	if at.path != "" {
		return fmt.Errorf("only options may follow the servers of %s://: write %s", at.Scheme, at.form)
	}
	return nil
}
