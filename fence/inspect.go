package fence

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// Mark describes the mark of one resource, for people.
type Mark struct {
	Namespace string
	Resource  string
	Token     rowlock.Token // token of the lease that sealed last; zero if the mark was reset since
	Domain    string        // domain of that token: the store, a space, the lock's name; empty if the mark was reset since
	Resets    int64         // how often the mark was reset
	Age       time.Duration // time since the last seal or reset, measured by the database's clock
}

// operateLimit is the time limit of each transaction of an operator's call.
const operateLimit = 30 * time.Second

// Marks returns the marks of namespace, ordered by resource. If the parameter all is true, it returns the marks of
// every namespace, ordered by namespace and resource. Marks does not wait for other transactions.
//
// The call ends when ctx ends, or after half a minute. If a table is missing, the error is a [*SchemaError].
func (g *Guard) Marks(ctx context.Context, namespace string, all bool) (list []Mark, err error) {
	if g.err != nil {
		return nil, g.err
	}
	if err := checkNamespace(namespace); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, operateLimit)
	defer cancel()
	err = g.dialect.look(bounded, func(q querier) error {
		list, err = g.dialect.list(bounded, q, namespace, all)
		return err
	})
	return list, operated("list marks", err)
}

func (m marks) list(ctx context.Context, q querier, namespace string, all bool) ([]Mark, error) {
	return m.scan(ctx, q, "list", m.encode(namespace), flag(all))
}

// flag returns 1 for true and 0 for false, because drivers differ in how they send a boolean.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// scan executes the statement whose file has the name verb, and returns the marks in its result.
func (m marks) scan(ctx context.Context, q querier, verb string, args ...any) ([]Mark, error) {
	var list []Mark
	err := q.each(ctx, m.sql[verb], args, func(r row) error {
		var one Mark
		var age int64
		if err := r.Scan(&one.Namespace, &one.Resource, &one.Token, &one.Domain, &one.Resets, &age); err != nil {
			return err
		}
		one.Age = time.Duration(age) * time.Microsecond
		list = append(list, one)
		return nil
	})
	return list, err
}

// checkNamespace returns an error if s is not a valid namespace of locks.
func checkNamespace(s string) error {
	if len(s) > driver.MaxNamespace || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return fmt.Errorf("fence: namespace %.40q: want at most %d bytes of UTF-8 without NUL", s, driver.MaxNamespace)
	}
	return nil
}

// operated adds the name of the operator's call to err.
func operated(what string, err error) error {
	if err != nil {
		err = fmt.Errorf("fence: %s: %w", what, err)
	}
	return err
}
