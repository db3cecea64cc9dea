// Package sqltable validates and quotes names of tables and columns. These names are the only text that is ever
// inserted into a statement.
package sqltable

import (
	"fmt"
	"strings"
)

// Default is the lease table's name in every SQL file of this module, so that each file is a valid statement without
// replacements.
const Default = "rowlock_lease"

// The names of the other tables are the lease table's name with one of these suffixes.
const (
	metaSuffix    = "_meta"
	fenceSuffix   = "_fence"
	outcomeSuffix = "_outcome"
)

// maxPart leaves room for a suffix of 13 bytes, because a Postgres identifier has at most 63 bytes.
const maxPart = 50

// DefaultProtected is the placeholder for a table of the user in SQL files that protect such a table. It also occurs
// in the names of triggers.
const DefaultProtected = "rowlock_protected"

// Table is a validated name of a lease table, with or without a schema.
type Table struct {
	schema, name string
}

// suffixes lists the suffixes that this project appends to the name of a lease table.
var suffixes = []string{
	metaSuffix, fenceSuffix, outcomeSuffix, "_version", "_waiter", "_counter", "_mint", "_run", "_token", "_fence_pass", "_fence_check", "_same_epoch",
}

// Parse parses the name of a lease table as [ParseProtected] does. It also rejects a name that could be derived from
// the name of another lease table.
func Parse(s string) (Table, error) {
	t, err := ParseProtected(s)
	for _, suffix := range suffixes {
		if n := len(t.name) - len(suffix); n > 0 && strings.EqualFold(t.name[n:], suffix) {
			return Table{}, fmt.Errorf("table %q: a name may not end in %s, because locks in a table %s use that name for another table", s, t.name[n:], t.name[:n])
		}
	}
	return t, err
}

// ParseProtected parses "table" or "schema.table". Each part must be a plain identifier: letters, digits and
// underscores, not starting with a digit, at most 50 bytes.
func ParseProtected(s string) (Table, error) {
	schema, name, qualified := strings.Cut(s, ".")
	if !qualified {
		schema, name = "", s
	}
	if qualified && !valid(schema) || !valid(name) {
		return Table{}, fmt.Errorf("table %q: want table or schema.table, each of letters, digits and underscores, not starting with a digit, at most %d bytes", s, maxPart)
	}
	return Table{schema: schema, name: name}, nil
}

func valid(s string) bool { return len(s) <= maxPart && plain(s) }

// plain reports whether s consists of letters, digits and underscores, and does not start with a digit. It uses no
// regular expression, because compiling one takes longer than everything else that the command rowlock does with a name.
func plain(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// String returns the name as it was given to Parse, without quotes.
func (t Table) String() string { return t.qualify(t.name, "", "") }

// Schema returns the schema's name, or an empty text if none was given.
func (t Table) Schema() string { return t.schema }

// Name returns the table's name without the schema.
func (t Table) Name() string { return t.name }

// Lease returns the name of the lease table, quoted with quote: `"` or a backtick.
func (t Table) Lease(quote string) string { return t.qualify(t.name, "", quote) }

// Meta returns the name of the meta table, quoted with quote. That table stores the floor, which every new token
// exceeds, and the column epoch, which identifies the server.
func (t Table) Meta(quote string) string { return t.qualify(t.name, metaSuffix, quote) }

// Fence returns the name of the table that stores the fence marks, without the schema and not quoted.
func (t Table) Fence() string { return t.name + fenceSuffix }

// Outcome returns the name of the table in which package fence records whether a transaction was committed. The name is
// without the schema and not quoted.
func (t Table) Outcome() string { return t.name + outcomeSuffix }

// Rewrite replaces the default names in a statement with the table's name and the names derived from it, quoted with
// quote.
func (t Table) Rewrite(statement, quote string) string {
	return t.replace(Default, statement, quote)
}

// RewriteProtected replaces [DefaultProtected] with the table's name, as Rewrite does.
func (t Table) RewriteProtected(statement, quote string) string {
	return t.replace(DefaultProtected, statement, quote)
}

// replace replaces base, and the names derived from base, in a statement. replace uses no regular expression: with one,
// this method took longer than all other work of creating a backend.
func (t Table) replace(base, statement, quote string) string {
	var b strings.Builder
	b.Grow(len(statement) + len(statement)/8)
	for {
		at := strings.Index(statement, base)
		if at < 0 {
			b.WriteString(statement)
			return b.String()
		}
		end := at + len(base)
		for end < len(statement) && inWord(statement[end]) {
			end++
		}
		name := statement[at:end]
		if suffix := name[len(base):]; isSuffix(suffix) && (at == 0 || !inWord(statement[at-1])) {
			name = t.qualify(t.name, suffix, quote)
		}
		b.WriteString(statement[:at])
		b.WriteString(name)
		statement = statement[end:]
	}
}

func inWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// isSuffix reports whether s can be the suffix of a derived name: an empty text, or words of lower-case letters, each
// after an underscore.
func isSuffix(s string) bool {
	words, behind := strings.CutPrefix(s, "_")
	if !behind {
		return s == ""
	}
	for word := range strings.SplitSeq(words, "_") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
	}
	return true
}

func (t Table) qualify(name, suffix, quote string) string {
	q := quote + name + suffix + quote
	if t.schema == "" {
		return q
	}
	return quote + t.schema + quote + "." + q
}
