package store

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// kind is a sort of store without tables.
type kind struct {
	form    string // how it is written
	port    string // unless another is given
	several bool   // servers may be named
	reaches string // the processes that a lock excludes use that
	Secure  bool   // TLS
	options []string
	check   func(*KeyValue) error // of path and options
	open    func(context.Context, *Store) error
	// forgets says that nothing is kept of a lock that nobody holds: so no name can be kept closed.
	forgets bool
	// untimed says that a lock is held for as long as its session lives, and nobody can see how long that is.
	untimed bool
}

// kinds are all of them, by their schemes.
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

// RefuseKeyValue refuses what is done with tables.
func (at Location) RefuseKeyValue(format string) error {
	if at.KeyValue == nil {
		return nil
	}
	return exit.Usagef("--store: "+format, at.KeyValue.Scheme+"://")
}

// withoutPath is the error of a path that a kind has no use for.
func (at *KeyValue) withoutPath() error {
	if at.path != "" {
		return fmt.Errorf("nothing but options can stand behind the servers of %s://: write %s", at.Scheme, at.form)
	}
	return nil
}
