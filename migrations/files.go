package migrations

import (
	"archive/zip"
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed postgres/*.sql mysql/*.sql sqlite/*.sql
var migrationFiles embed.FS

// FS returns the migrations of d as files in goose's format. The files have names such as 00001_lease.sql,
// and use the table name that the option [Table] sets. Copy the files into your own folder of migrations,
// or pass FS to your own goose provider.
func FS(d Dialect, opts ...Option) (fs.FS, error) {
	table, err := tableOf(d, opts)
	if err != nil {
		return nil, err
	}
	return files(d, table)
}

// files returns the migrations as a ZIP archive in memory. In the standard library, zip.Reader is the only file system
// outside of tests for files whose text is computed at run time.
func files(d Dialect, table sqltable.Table) (fs.FS, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	err := each(d, func(name, text string) error {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return err
		}
		_, err = f.Write([]byte(table.Rewrite(text, d.quote())))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migrations: write the files of %v: %w", d, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("migrations: write the files of %v: %w", d, err)
	}
	return zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
}

// SQL returns all up migrations of d as one script for any other tool. It contains no goose annotations, and each
// statement ends with a semicolon.
func SQL(d Dialect, opts ...Option) (string, error) {
	table, err := tableOf(d, opts)
	if err != nil {
		return "", err
	}
	var script strings.Builder
	err = each(d, func(_, text string) error {
		if script.Len() > 0 {
			script.WriteByte('\n')
		}
		script.WriteString(table.Rewrite(upwards(text), d.quote()))
		return nil
	})
	return script.String(), err
}

// each calls the function do for each migration of d, in the order of their numbers. It stops at the first error.
func each(d Dialect, do func(name, text string) error) error {
	entries, err := migrationFiles.ReadDir(d.String())
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := migrationFiles.ReadFile(path.Join(d.String(), e.Name()))
		if err != nil {
			return err
		}
		if err := do(e.Name(), string(text)); err != nil {
			return err
		}
	}
	return nil
}

// upwards returns the statements of a migration between goose's annotations Up and Down, without the annotations.
func upwards(text string) string {
	var b strings.Builder
	up := false
	for line := range strings.Lines(text) {
		word, annotation := strings.CutPrefix(strings.TrimSpace(line), "-- +goose ")
		switch {
		case annotation && word == "Up":
			up = true
		case annotation && word == "Down":
			up = false
		case up && !annotation:
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String()) + "\n"
}
