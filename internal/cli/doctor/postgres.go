package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// minPostgres is the oldest supported version, in the form of the setting server_version_num.
const minPostgres = 120000

func (s database) postgresChecks() []check {
	if s.At.Session != "" {
		return []check{{"server", s.postgresServer}, {"search path", s.creatorsCheck}, {"privileges", s.closedCheck}, {"schema", s.sequenceCheck}, s.privilegesCheck(nil), clockCheck("the server", s.clockOf)}
	}
	needed := slices.Concat(ofLeaseRows, ofEpoch, ofWaiters)
	return []check{{"server", s.postgresServer}, {"search path", s.creatorsCheck}, {"privileges", s.closedCheck}, s.schemaCheck(needed), s.privilegesCheck(needed), clockCheck("the server", s.clockOf)}
}

func (s database) postgresServer(ctx context.Context, r *Report) error {
	facts, err := s.facts(ctx, "facts")
	if isDenied(err) {
		return s.mayNotConnect(r)
	}
	if err != nil {
		r.unreachable(err)
		return nil
	}
	r.ok("connection", "PostgreSQL "+facts["server_version"]+" answers")
	s.boundCheck(r)
	number, err := strconv.Atoi(facts["server_version_num"])
	if err == nil && number < minPostgres {
		r.problem("version", "PostgreSQL "+facts["server_version"]+" is too old", "update it to PostgreSQL 12 or newer")
	}
	switch {
	case facts["standby"] == "true":
		r.problem("primary", "the server is a standby", "name the primary in --store: several hosts, and ?target_session_attrs=read-write")
	case facts["default_transaction_read_only"] == "on":
		r.problem("primary", "sessions are read-only (default_transaction_read_only)", "allow this user's sessions to write")
	}
	s.postgresDurability(r, facts)
	return s.poolerCheck(ctx, r)
}

// mayNotConnect checks for a user that can log in to the server but may not connect to the database.
// It then reports the missing privileges, and ends the examination.
func (s database) mayNotConnect(r *Report) error {
	cfg, err := pgxpool.ParseConfig(s.At.PostgresURL)
	if err != nil {
		return err
	}
	database := pgx.Identifier{cfg.ConnConfig.Database}.Sanitize()
	r.silent = true
	r.problem("privileges", "this user may not connect to the database "+database,
		"as its owner: GRANT CONNECT ON DATABASE "+database+" TO "+pgx.Identifier{cfg.ConnConfig.User}.Sanitize()+";")
	return nil
}

func (s database) postgresDurability(r *Report, facts map[string]string) {
	found := false
	for _, name := range []string{"fsync", "full_page_writes"} {
		if facts[name] == "off" {
			r.problem("durability", name+"=off: a crash of the machine may lose grants and damage the tables", "set "+name+"=on")
			found = true
		}
	}
	if facts["synchronous_commit"] == "off" {
		r.warn("durability", "synchronous_commit=off: grants are flushed to the disk nevertheless, but a crash may lose the last transactions of the data "+
			"that a lock protects, and marks of the fence", "set synchronous_commit=on for the users that write that data")
		found = true
	}
	if !found {
		r.ok("durability", "commits are durable")
	}
}

// poolerCheck detects a connection pooler. It compares the process id that the login reported with the process id of
// the server process that answers. At the login a pooler reports a number of its own in place of the process id.
func (s database) poolerCheck(ctx context.Context, r *Report) error {
	conn, err := s.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var told, pid uint32
	err = conn.Raw(func(c any) error {
		pg := c.(*stdlib.Conn).Conn().PgConn() // cannot fail: package store has opened the database with this driver
		told = pg.PID()
		answers, err := pg.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(answers[0].Rows[0][0]), 10, 32)
		pid = uint32(n)
		return err
	})
	switch {
	case err != nil:
		return err
	case told == pid:
		r.ok("pooler", "no pooler was detected")
	case s.At.Session != "":
		r.problem("pooler", fmt.Sprintf("the connection goes through a pooler (the login reported process %d, and process %d answers): with the next statement, a session lock would belong to another client", told, pid),
			"name the server itself in --store, or keep locks as lease rows (--store postgres://…), which need no session")
	default:
		r.warn("pooler", fmt.Sprintf("the connection goes through a pooler (the login reported process %d, and process %d answers): locks are safe, but LISTEN does not work through it, so waiters have to poll", told, pid),
			"if jobs wait for each other, name the server itself in --store")
	}
	return nil
}

// creatorsCheck warns of other roles that may create objects in a schema of this user's search_path.
// This user's statements would use such objects.
func (s database) creatorsCheck(ctx context.Context, r *Report) error {
	rows, err := s.query(ctx, "creators")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var schema, roles string
		var first bool
		if err := rows.Scan(&schema, &first, &roles); err != nil {
			return err
		}
		who, mend := roles+" may create in the schema "+schema, "as its owner: REVOKE CREATE ON SCHEMA "+schema+" FROM "+roles
		if roles == "PUBLIC" {
			who = "every role may create in the schema " + schema
		}
		if first {
			r.problem("search path", who+", which the search_path names before pg_catalog: a function there runs instead of the server's own", mend)
		} else {
			r.warn("search path", who+", which is on the search_path: a table there may be used instead of yours", mend)
		}
	}
	return rows.Err()
}

// closedCheck reports each schema that contains the tables and on which this user lacks the privilege USAGE.
func (s database) closedCheck(ctx context.Context, r *Report) error {
	rows, err := s.query(ctx, "closed", s.Table.Schema(), s.Table.Name())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var schema, user string
		if err := rows.Scan(&schema, &user); err != nil {
			return err
		}
		r.problem("privileges", "this user may not use the schema "+schema+", which contains the tables", "as its owner: GRANT USAGE ON SCHEMA "+schema+" TO "+user+";")
	}
	return rows.Err()
}

// sequenceCheck checks that the sequence for the tokens of advisory locks exists, and that this user may use it.
func (s database) sequenceCheck(ctx context.Context, r *Report) error {
	if r.has(problem, "privileges") {
		return nil // closedCheck has reported that this user may not use the schema of the sequence
	}
	facts, err := s.facts(ctx, "sequence")
	if err != nil {
		return err
	}
	sequence := s.Table.String() + "_token"
	switch facts["sequence"] {
	case "missing":
		r.problem("schema", "the sequence "+sequence+" is missing", "rowlock migrate up"+s.Flags())
	case "true":
		r.ok("schema", "the sequence of the tokens exists")
	default:
		user, err := s.user(ctx)
		if err != nil {
			return err
		}
		r.problem("privileges", "this user may not use the sequence "+sequence, "as its owner: GRANT USAGE ON SEQUENCE "+sequence+" TO "+user+";")
	}
	return nil
}
