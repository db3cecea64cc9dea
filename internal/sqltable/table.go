// Package sqltable validates and quotes the one thing that is ever put into a statement: the name
// of the lease table, and the names derived from it.
package sqltable

import (
	"fmt"
	"regexp"
	"strings"
)

// Default is the lease table's name in every SQL file of this module, which makes each of them
// valid as it stands.
const Default = "rowlock_lease"

// Names derived from the lease table's name.
const (
	metaSuffix    = "_meta"
	fenceSuffix   = "_fence"
	outcomeSuffix = "_outcome"
	versionSuffix = "_version"
)

// maxPart leaves room for a suffix of 13 bytes within the 63 of a Postgres identifier.
const maxPart = 50

var part = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// DefaultProtected stands for a table of the user's own in those files that protect one, in names of
// triggers too.
const DefaultProtected = "rowlock_protected"

// Table is a validated name of a lease table, with a schema or without.
type Table struct {
	schema, name string
}

// reserved are the last words of names that are derived from a lease table's.
var reserved = regexp.MustCompile(`(?i)^(.+)_(meta|fence|outcome|version|waiter|counter|run|token|fence_pass|fence_check|same_epoch)$`)

// Parse reads the name of a lease table as [ParseProtected] does, and refuses one that another lease table's own tables may have.
func Parse(s string) (Table, error) {
	t, err := ParseProtected(s)
	if of := reserved.FindStringSubmatch(t.name); err == nil && of != nil {
		return Table{}, fmt.Errorf("table %q: a name may not end in _%s, because locks in a table %s keep something else under it", s, of[2], of[1])
	}
	return t, err
}

// ParseProtected reads "table" or "schema.table". Each part is a plain identifier: letters, digits and
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

func valid(s string) bool { return len(s) <= maxPart && part.MatchString(s) }

// String is the name as it was given.
func (t Table) String() string { return t.qualify(t.name, "", "") }

// Schema is the schema's name, empty when none was given.
func (t Table) Schema() string { return t.schema }

// Name is the table's name without the schema.
func (t Table) Name() string { return t.name }

// Lease is the lease table, quoted with quote: `"` or a backtick.
func (t Table) Lease(quote string) string { return t.qualify(t.name, "", quote) }

// Meta is the table of the token floor and the server's epoch, quoted with quote.
func (t Table) Meta(quote string) string { return t.qualify(t.name, metaSuffix, quote) }

// Fence is the name of the table of the fence's marks, without the schema and not quoted.
func (t Table) Fence() string { return t.name + fenceSuffix }

// Outcome is the name of the table of the fence's slots, without the schema and not quoted.
func (t Table) Outcome() string { return t.name + outcomeSuffix }

// Version is the name of the table in which migrations keep their version, not quoted.
func (t Table) Version() string { return t.qualify(t.name, versionSuffix, "") }

// Rewrite puts the table's name, and all names that are derived from it by a suffix, quoted with
// quote, in place of the default ones in a statement.
func (t Table) Rewrite(statement, quote string) string {
	return t.replace(Default, statement, quote)
}

// RewriteProtected puts the table's name in place of [DefaultProtected], as Rewrite does.
func (t Table) RewriteProtected(statement, quote string) string {
	return t.replace(DefaultProtected, statement, quote)
}

// replace does without a regular expression, which took longer than all else that makes a backend.
func (t Table) replace(base, statement, quote string) string {
	var b strings.Builder
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

// isSuffix says whether s is what a derived name may have behind the lease table's: nothing, or words of small letters, each behind
// an underscore.
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
