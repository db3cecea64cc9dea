package cli

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// examineFile makes the report of a SQLite file. It opens it for reading, and makes none.
func (a *app) examineFile(ctx context.Context, r *report, at location, table sqltable.Table) error {
	if !r.examinePath(at) {
		return nil
	}
	db, err := sql.Open("sqlite", readOnlyDSN(at.path))
	if err != nil {
		return fail(exitInternal, "open %s: %w", at.shown, err)
	}
	defer db.Close()
	s := &store{at: at, table: table, db: db, leases: sqllock.SQLite(db, sqllock.Table(table.String()))}
	s.backend, r.store = s.leases, s
	r.runAll(ctx, []check{{"schema", s.fileSchema}})
	if !r.silent && !r.has(problem, "schema") && !r.has(warning, "schema") && r.has(fine, "schema") {
		r.runAll(ctx, []check{a.inspection()})
	}
	return nil
}

// examinePath looks at the file from outside, and reports whether there is one to be opened.
func (r *report) examinePath(at location) bool {
	folder := filepath.Dir(at.path)
	info, err := os.Stat(at.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(folder); err != nil && at.byName {
			r.problem("file", "there is no folder "+folder, "create it, or name another file in --store")
			return false
		}
		r.ok("file", "there is none yet: the first command that takes a lock makes it")
		return false
	case err != nil:
		r.problem("file", plain(err), "let this user read it, or name another file in --store")
		return false
	case !info.Mode().IsRegular():
		r.problem("file", at.path+" is no file", "name a file in --store")
		return false
	}
	f, err := os.OpenFile(at.path, os.O_RDWR, 0) // and nothing is written
	if err == nil {
		_ = f.Close()
		err = mayWriteTo(folder)
	}
	if err != nil {
		r.problem("privileges", "this user may not write the file, or the log that SQLite keeps beside it: "+plain(err), "let this user write the file and its folder")
	}
	if kind := networkFileSystem(at.path); kind != "" {
		r.problem("file", "the file is on "+kind+", over which SQLite's locks are not reliable", "put it on a disk of this machine, or keep locks in a server")
	}
	r.examineAccess(at.path, info)
	if !r.has(problem, "file") && !r.has(problem, "privileges") {
		r.ok("file", "it is on a disk of this machine, and this user may write it")
	}
	return true
}

// examineAccess looks for other users who can get at the file.
func (r *report) examineAccess(path string, info fs.FileInfo) {
	if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		r.warn("privileges", path+" is a symbolic link: who can change the link decides which file holds the locks", "name the file itself in --store")
	}
	if uid, known := owner(info); known && uid != 0 && uid != os.Geteuid() {
		r.warn("privileges", fmt.Sprintf("the file belongs to user %d, who can change or replace it", uid), "keep locks in a file of this user's or root's")
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o007 != 0 {
		r.warn("privileges", fmt.Sprintf("every user of this machine may open the file (mode %#o): one who may only read it can keep all locks from being taken", mode),
			"chmod o-rwx "+shellQuoted(path))
	}
}

// fileSchema looks for the tables. A file of its own the command brings up to date itself.
func (s *store) fileSchema(ctx context.Context, r *report) error {
	ready, others, err := s.tablesOfFile(ctx)
	if err != nil {
		r.unreachable(err)
		return nil
	}
	mend := "rowlock migrate up" + s.flags()
	switch {
	case ready == 0 && others > 0:
		r.problem("schema", "the file has tables of others, and none of "+s.table.String(), mend)
		return nil
	case ready == 0:
		r.ok("file", "it is empty: the first command that takes a lock makes its tables")
		return nil
	}
	list, err := migrations.Status(ctx, s.db, s.at.dialect, migrations.Table(s.table.String()))
	if errors.Is(err, migrations.ErrMadeElsewhere) {
		r.madeElsewhere()
		return nil
	}
	if err != nil {
		return err
	}
	old := slices.ContainsFunc(list, func(m migrations.MigrationStatus) bool { return !m.Applied })
	if old && others == 0 {
		r.warn("schema", "the tables are older than this version", "nothing: the next command that takes a lock brings them up to date")
		return nil
	}
	r.schema(list, mend)
	return nil
}

// readOnlyDSN opens a file for reading.
func readOnlyDSN(path string) string {
	dsn, query, _ := strings.Cut(sqliteDSN(path), "?")
	values, _ := url.ParseQuery(query) // it is ours
	values.Set("mode", "ro")
	values["_pragma"] = []string{"busy_timeout(2000)", "query_only(1)"}
	values.Del("_txlock")
	return dsn + "?" + values.Encode()
}
