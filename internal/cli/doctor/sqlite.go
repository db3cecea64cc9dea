package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/migrations"
)

// examineFile adds the findings about a SQLite file to the report. It opens the file read-only, and never creates a
// file.
func examineFile(ctx context.Context, r *Report, at store.Location, table sqltable.Table, namespace string) error {
	if !r.examinePath(at) {
		return nil
	}
	s, err := store.OpenReadOnly(at, table)
	if err != nil {
		return err
	}
	defer s.Close()
	r.store = s
	r.runAll(ctx, []check{{"schema", database{s}.fileSchema}})
	if !r.silent && !r.has(problem, "schema") && !r.has(warning, "schema") && r.has(fine, "schema") {
		r.runAll(ctx, []check{inspection(namespace)})
	}
	return nil
}

// examinePath adds findings about the path, the file system and the permissions of the file. It returns true if there
// is a SQLite file to open.
func (r *Report) examinePath(at store.Location) bool {
	folder := filepath.Dir(at.Path)
	info, err := os.Stat(at.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(folder); err != nil && at.ByName {
			r.problem("file", "there is no folder "+folder, "create it, or name another file in --store")
			return false
		}
		r.ok("file", "the file does not exist yet: the first command that acquires a lock creates it")
		return false
	case err != nil:
		r.problem("file", terminal.Plain(err), "let this user read it, or name another file in --store")
		return false
	case !info.Mode().IsRegular():
		r.problem("file", at.Path+" is not a file", "name a file in --store")
		return false
	}
	f, err := os.OpenFile(at.Path, os.O_RDWR, 0) // checks that this user may write the file, and writes nothing
	if err == nil {
		_ = f.Close()
		err = mayWriteTo(folder)
	}
	if err != nil {
		r.problem("privileges", "this user may not write the file, or SQLite's log next to it: "+terminal.Plain(err), "allow this user to write the file and its folder")
	}
	if kind := networkFileSystem(at.Path); kind != "" {
		r.problem("file", "the file is on "+kind+", over which SQLite's locks are not reliable", "put it on a local disk of this machine, or keep locks in a server")
	}
	r.examineAccess(at.Path, info)
	if !r.has(problem, "file") && !r.has(problem, "privileges") {
		r.ok("file", "the file is on a local disk, and this user may write it")
	}
	return true
}

// examineAccess warns if other users can read, change or replace the file.
func (r *Report) examineAccess(path string, info fs.FileInfo) {
	if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		r.warn("privileges", path+" is a symbolic link: a user that can change the link decides which file holds the locks", "name the file itself in --store")
	}
	if uid, known := owner(info); known && uid != 0 && uid != os.Geteuid() {
		r.warn("privileges", fmt.Sprintf("the file belongs to user %d, who can change or replace it", uid), "keep locks in a file of this user's or root's")
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o007 != 0 {
		r.warn("privileges", fmt.Sprintf("every user of this machine may open the file (mode %#o): even with read permission only, a user can block all locks", mode),
			"chmod o-rwx "+terminal.ShellQuoted(path))
	}
}

// fileSchema checks the tables in the file. Old or missing tables are no problem if the file has no other tables,
// because rowlock then migrates the file.
func (s database) fileSchema(ctx context.Context, r *Report) error {
	ready, others, err := s.TablesOfFile(ctx)
	if err != nil {
		r.unreachable(err)
		return nil
	}
	mend := "rowlock migrate up" + s.Flags()
	switch {
	case ready == 0 && others > 0:
		r.problem("schema", "the file has other tables, and none of "+s.Table.String(), mend)
		return nil
	case ready == 0:
		r.ok("file", "it is empty: the first command that acquires a lock creates its tables")
		return nil
	}
	list, err := migrations.Status(ctx, s.DB, s.At.Dialect, migrations.Table(s.Table.String()))
	if errors.Is(err, migrations.ErrMadeElsewhere) {
		r.madeElsewhere()
		return nil
	}
	if err != nil {
		return err
	}
	old := slices.ContainsFunc(list, func(m migrations.MigrationStatus) bool { return !m.Applied })
	if old && others == 0 {
		r.warn("schema", "the tables are older than this version", "nothing: the next command that acquires a lock migrates them")
		return nil
	}
	r.schema(list, mend)
	return nil
}
