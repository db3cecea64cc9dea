// Package doctor looks for what is wrong with a store, and says what to do. It writes nothing and takes no lock.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/kvlock/redislock"
	"github.com/rowlock/rowlock/kvlock/redlock"
	"github.com/rowlock/rowlock/migrations"
)

// checkTimeout bounds each check, so that one that hangs leaves the others their turn.
const checkTimeout = 5 * time.Second

// check looks at one thing. What it returns is why it could not be found out; what it found is in the report.
type check struct {
	name string
	run  func(context.Context, *Report) error
}

// Examine makes the report of a store. Its error is that of a command line that cannot work.
func Examine(ctx context.Context, at store.Location, table sqltable.Table, namespace string) (*Report, error) {
	r := &Report{Store: at.Shown, Findings: []finding{}}
	r.ok("store", at.Shown+": excludes "+at.Excludes())
	if at.Dialect == migrations.SQLite {
		return r, examineFile(ctx, r, at, table, namespace)
	}
	s, err := store.Open(ctx, at, table)
	switch {
	case exit.Code(err) == exit.Unavailable:
		r.unreachable(err)
		return r, nil
	case err != nil:
		return nil, err
	}
	defer s.Close()
	r.store = s
	r.runAll(ctx, append(database{s}.checks(), database{s}.encryptionCheck(), inspection(namespace)))
	return r, nil
}

// database is a store as it is examined.
type database struct{ *store.Store }

// checks are those of the store's kind.
func (s database) checks() []check {
	switch s.At.Dialect {
	case migrations.Postgres:
		return s.postgresChecks()
	case migrations.MySQL:
		return s.mysqlChecks()
	}
	at := s.At.KeyValue
	switch {
	case s.Etcd != nil:
		return etcdChecks(s.Etcd, at.Prefix("rowlock"))
	case s.Redis != nil:
		return redisChecks(s.Redis, at.Prefix(redislock.DefaultPrefix))
	case s.Nodes != nil:
		return redlockChecks(s.Nodes, at.Prefix(redlock.DefaultPrefix))
	default:
		return zookeeperChecks(at.Servers, s.Secure)
	}
}

// runAll runs checks until one finds that the store cannot be reached.
func (r *Report) runAll(ctx context.Context, checks []check) {
	for _, c := range checks {
		if r.silent {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, checkTimeout)
		err := c.run(bounded, r)
		cancel()
		if err != nil {
			r.warn(c.name, "it could not be found out: "+terminal.Plain(err), "")
		}
	}
}

// inspection reads the state of a lock that nobody has, with which a backend finds out how its store is set up.
func inspection(namespace string) check {
	return check{"locks", func(ctx context.Context, r *Report) error {
		_, err := r.store.Backend.Inspect(ctx, driver.Key{Namespace: namespace, Name: "doctor"})
		switch {
		case driver.IsPermanent(err) && (r.has(problem, "schema") || r.has(problem, "privileges")):
			return nil // which was told
		case err != nil && driver.IsPermanent(err):
			r.problem("locks", store.CommandTerms.Replace(terminal.Plain(err)), "")
			return nil
		case err != nil:
			r.unreachable(err)
			return nil
		}
		c := r.store.Backend.Capabilities()
		r.ok("locks", fmt.Sprintf("they can be read; tokens: %s", c.Token))
		for _, text := range c.Warnings {
			r.warn("settings", store.CommandTerms.Replace(text), "")
		}
		return nil
	}}
}
