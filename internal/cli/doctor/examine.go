// Package doctor finds problems of a store, and says how to fix them. It writes nothing to the store,
// and acquires no lock.
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

// checkTimeout is the time limit of each check. If a check hangs, the next check still runs.
const checkTimeout = 5 * time.Second

// check examines one aspect of a store, and adds findings to the report. It returns an error if it could not examine
// that aspect.
type check struct {
	name string
	run  func(context.Context, *Report) error
}

// Examine runs all checks of a store, and returns the report. It returns an error only for an invalid command line.
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

// database is the store that the checks examine.
type database struct{ *store.Store }

// checks returns the checks for the store's kind.
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

// runAll runs the checks in order. It stops when a check has found that the store cannot be reached.
func (r *Report) runAll(ctx context.Context, checks []check) {
	for _, c := range checks {
		if r.silent {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, checkTimeout)
		err := c.run(bounded, r)
		cancel()
		if err != nil {
			r.warn(c.name, "the check failed: "+terminal.Plain(err), "")
		}
	}
}

// inspection returns a check that asks the backend for the state of a lock. To answer this request, the backend also
// checks the configuration of its store. The check reports what the backend finds.
func inspection(namespace string) check {
	return check{"locks", func(ctx context.Context, r *Report) error {
		_, err := r.store.Backend.Inspect(ctx, driver.Key{Namespace: namespace, Name: "doctor"})
		switch {
		case driver.IsPermanent(err) && (r.has(problem, "schema") || r.has(problem, "privileges")):
			return nil // already reported
		case err != nil && driver.IsPermanent(err):
			r.problem("locks", store.CommandTerms.Replace(terminal.Plain(err)), "")
			return nil
		case err != nil:
			r.unreachable(err)
			return nil
		}
		c := r.store.Backend.Capabilities()
		r.ok("locks", fmt.Sprintf("the locks can be read; tokens: %s", c.Token))
		for _, text := range c.Warnings {
			r.warn("settings", store.CommandTerms.Replace(text), "")
		}
		return nil
	}}
}
