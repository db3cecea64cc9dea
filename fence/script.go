package fence

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock"
)

// CheckSQL returns the statements of [Guard.Check] for a script that runs in a console of the database, such as psql.
// They are in order, without a semicolon at the end. The script must run them first in its transaction. They contain
// the nonce of lease, so they check this lease only. CheckSQL does not access the database.
//
// If lease was not the last to seal the resources, a statement fails: on Postgres with SQLSTATE RLF02, on MySQL and
// MariaDB with error 1064, and on SQLite with the error of a trigger. The text contains "rowlock: stale". The script
// must then stop without a commit. If the database wants the transaction to run again, the error is that of the
// database. On Postgres the statements also fail outside a transaction block. The other databases do not detect that.
//
// After the statements, protected tables accept the writes of the transaction ([Guard.Protect]). On SQLite the script
// must delete all rows of the table rowlock_lease_fence_pass before its commit, as [Guard.Uncheck] does. On MySQL and
// MariaDB it must end its session, or set @rowlock_nonces to NULL.
func (g *Guard) CheckSQL(lease *rowlock.Lease, resources ...string) ([]string, error) {
	if g.err != nil {
		return nil, g.err
	}
	if lease == nil {
		return nil, errors.New("fence: check: the lease is nil")
	}
	c, err := newClaim(g.domain, lease, resources)
	if err != nil {
		return nil, err
	}
	if err := lease.Err(); err != nil {
		return nil, fmt.Errorf("fence: check %s: %w", c.subject(), err)
	}
	w := g.dialect.writing()
	var statements []string
	for _, r := range c.resources {
		values := strings.NewReplacer( // one step, so that no replacement changes a name that was inserted before
			"'rowlock namespace'", w.script(c.namespace), "'rowlock resource'", w.script(r), "'rowlock nonce'", w.script(c.nonce),
			"'rowlock idle'", w.script(strconv.FormatInt(c.trust().Milliseconds(), 10)),
		)
		for _, verb := range slices.Sorted(maps.Keys(w.sql)) {
			if family, _, _ := strings.Cut(verb, "_"); family == "script" {
				statements = append(statements, values.Replace(w.sql[verb]))
			}
		}
	}
	return statements, nil
}

// portable returns an expression in printable ASCII that Postgres reads as the text s, whatever the encodings of client
// and server and the setting standard_conforming_strings are. The expression contains no dollar sign, so it cannot end
// a block that is quoted with dollar signs.
func portable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' || r == '$' }) {
		return "pg_catalog.convert_from(pg_catalog.decode('" + hex.EncodeToString([]byte(s)) + "', 'hex'), 'UTF8')"
	}
	return doubled(s)
}
