package fence

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// ProtectOption changes what [Guard.Protect] and [Guard.ProtectSQL] do.
type ProtectOption func(*protection)

type protection struct {
	namespace string
}

// InNamespace sets the namespace of the leases that seal the resource (rowlock.Namespace). The default is the empty
// namespace, which is also the default of leases.
func InNamespace(name string) ProtectOption {
	return func(p *protection) { p.namespace = name }
}

// ProtectSQL returns the statements of [Guard.Protect] for a migration, in order, without a semicolon at the end.
// The statements of MySQL and SQLite contain semicolons: goose needs StatementBegin and StatementEnd around them,
// and MySQL's own client needs another DELIMITER. ProtectSQL does not access the database.
func (g *Guard) ProtectSQL(table, resource string, opts ...ProtectOption) ([]string, error) {
	var p protection
	for _, opt := range opts {
		opt(&p)
	}
	if err := checkResource(resource); err != nil {
		return nil, err
	}
	if p.namespace != "" {
		if err := checkResource(p.namespace); err != nil {
			return nil, fmt.Errorf("namespace: %w", err)
		}
	}
	return g.triggers("protect", table, p.namespace, resource)
}

// UnprotectSQL returns the statements of [Guard.Unprotect], in the form of [Guard.ProtectSQL].
func (g *Guard) UnprotectSQL(table string) ([]string, error) {
	return g.triggers("unprotect", table, "", "")
}

// triggers returns the statements whose file names begin with the parameter verb. It inserts the namespace and the
// resource in one last step. With two steps, the second step could replace a text inside the name that the first step
// has inserted.
func (g *Guard) triggers(verb, table, namespace, resource string) ([]string, error) {
	if g.err != nil {
		return nil, g.err
	}
	on, err := sqltable.ParseProtected(table)
	if err != nil {
		return nil, err
	}
	w := g.dialect.writing()
	if on.Schema() != "" && !w.schemas {
		return nil, fmt.Errorf("table %q: on SQLite, name it without a schema: triggers reach no other file", table)
	}
	names := strings.NewReplacer("'rowlock namespace'", w.literal(namespace), "'rowlock resource'", w.literal(resource))
	var statements []string
	for _, v := range slices.Sorted(maps.Keys(w.sql)) {
		if strings.HasPrefix(v, verb) {
			statements = append(statements, names.Replace(on.RewriteProtected(w.sql[v], w.quote)))
		}
	}
	return statements, nil
}

// writing has what a dialect needs to write names into statements that take no parameters.
type writing struct {
	sql     statements
	quote   string
	literal func(string) string
	script  func(string) string // quotes a text for a script, which may have another encoding than a driver
	schemas bool                // a table can have a schema
}

// triggering has the methods of a dialect that create and drop triggers.
type triggering interface {
	writing() writing
	// ready returns a *SchemaError if a table that the triggers need is missing.
	ready(ctx context.Context, q querier) error
	// define runs work, which creates or drops triggers. It runs once, in one transaction if the database supports
	// that.
	define(ctx context.Context, work func(querier) error) error
}

func (p *postgres) writing() writing { return writing{p.sql, `"`, quoted, portable, true} }
func (m *mysql) writing() writing {
	digits := func(s string) string { return "X'" + hex.EncodeToString([]byte(s)) + "'" }
	return writing{m.sql, "`", digits, digits, true}
}
func (s *sqlite) writing() writing { return writing{s.sql, `"`, doubled, doubled, false} }

// quoted returns a literal that Postgres reads correctly whatever standard_conforming_strings is.
func quoted(s string) string {
	if strings.Contains(s, `\`) {
		return "E" + doubled(strings.ReplaceAll(s, `\`, `\\`))
	}
	return doubled(s)
}

func doubled(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (p *postgres) ready(ctx context.Context, q querier) error {
	return p.classify(p.isReady(ctx, q))
}

func (m *mysql) ready(ctx context.Context, q querier) error {
	return m.classify(m.isReady(ctx, q))
}

func (s *sqlite) ready(ctx context.Context, q querier) error {
	return s.missing(s.isReady(ctx, q))
}

func (m marks) isReady(ctx context.Context, q querier) error {
	var ignored int64
	_, err := q.row(ctx, m.sql["ready"], nil, &ignored)
	return err
}
