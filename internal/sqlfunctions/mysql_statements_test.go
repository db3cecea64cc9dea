package sqlfunctions_test

import (
	"database/sql"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// coreProcedure says which file a procedure with the prefix do_ runs, and which parameters replace its question marks.
type coreProcedure struct {
	file    string
	mysql   string // the parameters in the order of the file
	mariadb string // those of the file that MariaDB uses instead; empty if there is none
	into    string // the parameters that receive the row
}

const (
	acquireOnMySQL   = "p_namespace p_name p_nonce p_waiter p_epoch p_nonce p_floor p_nonce p_holder p_note p_nonce p_ttl p_closed_for p_nonce p_min_hold p_waiter p_waiter"
	acquireOnMariaDB = "p_closed_for p_nonce p_min_hold p_nonce p_floor p_nonce p_nonce p_holder p_note p_ttl p_waiter p_waiter p_namespace p_name p_nonce p_waiter p_epoch"
	insertArgs       = "p_namespace p_name p_nonce p_holder p_note p_ttl p_closed_for p_closed_for p_namespace p_name"
	releaseOnMySQL   = "p_namespace p_name p_nonce p_token p_min_hold p_min_hold p_min_hold p_tick"
	releaseOnMariaDB = "p_min_hold p_min_hold p_min_hold p_tick p_namespace p_name p_nonce p_token"
	reserveArgs      = "p_waiter p_waiter p_waiter p_reserve p_namespace p_name p_namespace p_name"
	forgetArgs       = "p_waiter p_waiter p_namespace p_name p_waiter p_namespace p_name"
	waitArgs         = "p_waiter p_waiter p_waiter p_waiter p_waiter p_namespace p_name p_waiter p_waiter p_namespace p_name"
	leaveArgs        = "p_waiter p_waiter p_waiter p_waiter p_waiter p_namespace p_name p_waiter p_namespace p_name"
)

var (
	coreOfLocks = map[string]coreProcedure{
		"look": {file: "look", mysql: "p_shared p_closed_for p_nonce p_path p_waiter p_waiter p_waiter p_namespace p_name",
			into: "o_verdict, o_token, o_holder, o_note, o_since_us, o_free_in_us, o_ahead, o_must_queue, o_queued, o_epoch, o_floor, o_must_reserve, o_readers, o_now_us"},
		"acquire":  {file: "acquire", mysql: acquireOnMySQL, mariadb: acquireOnMariaDB},
		"insert":   {file: "insert", mysql: insertArgs},
		"granted":  {file: "granted", mysql: "p_namespace p_name p_nonce p_path", into: "o_token, o_done"},
		"adopt":    {file: "adopt_epoch"},
		"ttl":      {file: "raise_longest_ttl", mysql: "p_closed_for"},
		"reserve":  {file: "reserve_for_writer", mysql: reserveArgs},
		"forget":   {file: "forget_writer", mysql: forgetArgs},
		"create":   {file: "create", mysql: "p_namespace p_name"},
		"lock":     {file: "lock_in_tx_or_skip", mysql: "p_namespace p_name", into: "o_verdict, o_token, o_holder, o_note, o_since_us, o_free_in_us"},
		"wait":     {file: "wait", mysql: waitArgs},
		"leave":    {file: "leave", mysql: leaveArgs},
		"renew":    {file: "renew", mysql: "p_grants"},
		"renewed":  {file: "renewed", mysql: "p_renewed_us p_grants", into: "o_n, o_outcome"},
		"release":  {file: "release", mysql: releaseOnMySQL, mariadb: releaseOnMariaDB},
		"released": {file: "released_before", mysql: "p_token p_token p_nonce p_token p_namespace p_name", into: "o_verdict"},
	}
	coreOfMarks = map[string]coreProcedure{
		"read":  {file: "read", mysql: "p_namespace p_resource", into: "o_token, o_nonce, o_domain"},
		"raise": {file: "raise", mysql: "p_namespace p_resource p_token p_nonce p_domain"},
		"check": {file: "check", mysql: "p_namespace p_resource p_namespace p_resource", into: "o_token, o_nonce, o_seen_token, o_seen_nonce"},
		"pass":  {file: "pass", mysql: "p_nonce p_nonce"},
	}
	onlyOnMySQL   = regexp.MustCompile(`(?s)/\*!80000 (.*?)\*/`)
	onlyOnMariaDB = regexp.MustCompile(`(?s)/\*M!\d* (.*?)\*/`)
)

// executed returns a statement without the comments that only the other server executes, and without line breaks.
func executed(statement string, mariadb bool) string {
	ours, others := onlyOnMySQL, onlyOnMariaDB
	if mariadb {
		ours, others = others, ours
	}
	return strings.Join(strings.Fields(ours.ReplaceAllString(others.ReplaceAllString(statement, ""), "$1")), " ")
}

// body returns the statement as the body of a procedure: with the parameters, and with the row that it selects.
func (c coreProcedure) body(t *testing.T, statement string, mariadb bool) string {
	t.Helper()
	names := strings.Fields(c.mysql)
	if mariadb && c.mariadb != "" {
		names = strings.Fields(c.mariadb)
	}
	parts := strings.Split(statement, "?")
	require.Len(t, parts, len(names)+1, c.file)
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(part)
		if i < len(names) {
			b.WriteString(names[i])
		}
	}
	if c.into != "" {
		b.WriteString("\n  INTO " + c.into)
	}
	return executed(b.String(), mariadb)
}

// Each procedure with the prefix do_ runs a statement of package sqllock or fence, with its parameters in the place of
// the question marks.
func TestTheProceduresRunTheStatementsOfTheBackends(t *testing.T) {
	table, err := sqltable.Parse(sqltable.Default)
	require.NoError(t, err)
	backend := os.DirFS("../../sqllock/internal/mysql")
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		locks, marks := table.Statements(backend, "sql/mysql", "`"), table.Statements(os.DirFS("../../fence"), "sql/mysql", "`")
		mariadb := strings.Contains(t.Name(), "mariadb")
		if mariadb {
			maps.Copy(locks, table.Statements(backend, "sql/mariadb", "`"))
		}
		want := map[string]string{}
		for name, c := range coreOfLocks {
			want[name] = c.body(t, locks[c.file], mariadb)
		}
		for name, c := range coreOfMarks {
			want[name] = c.body(t, marks[c.file], mariadb)
		}
		for name, statement := range want {
			// information_schema would show the body without _utf8mb4 and _ascii
			var mode, text string
			var ignored any
			require.NoError(t, db.QueryRowContext(t.Context(), "SHOW CREATE PROCEDURE rowlock_lease_do_"+name).Scan(&ignored, &mode, &text, &ignored, &ignored, &ignored))
			_, body, _ := strings.Cut(text, "SQL SECURITY INVOKER\n")
			assert.Equal(t, statement, executed(body, mariadb), "%s: write the changed statement into a new migration of the functions", name)
		}
		assert.Equal(t, len(want), count(t, db, `SELECT COUNT(*) FROM information_schema.ROUTINES
			WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME LIKE 'rowlock\_lease\_do\_%' AND ROUTINE_NAME NOT IN ('rowlock_lease_do_us', 'rowlock_lease_do_outside')`))
	})
}
