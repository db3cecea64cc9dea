package migrations

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"strings"
)

// FS returns the migrations of d as files in goose's format. The files have names such as 00001_lease.sql,
// and use the table name that the option [Table] sets. Copy the files into your own folder of migrations,
// or pass FS to your own goose provider.
func FS(d Dialect, opts ...Option) (fs.FS, error) {
	s, err := seriesOf(d, opts)
	if err != nil {
		return nil, err
	}
	return s.files()
}

// files returns the migrations as a ZIP archive in memory. In the standard library, zip.Reader is the only file system
// outside of tests for files whose text is computed at run time.
func (s series) files() (fs.FS, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	err := s.each(func(name, text string) error {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return err
		}
		_, err = f.Write([]byte(text))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migrations: write the files of %v: %w", s.dialect, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("migrations: write the files of %v: %w", s.dialect, err)
	}
	return zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
}

// SQL returns all up migrations of d as one script for any other tool. It contains no goose annotations, and each
// statement ends with a semicolon. The procedures for MySQL contain semicolons, so there the mysql client's command
// DELIMITER precedes and follows each of them.
func SQL(d Dialect, opts ...Option) (string, error) {
	s, err := seriesOf(d, opts)
	if err != nil {
		return "", err
	}
	var script strings.Builder
	err = s.each(func(_, text string) error {
		if script.Len() > 0 {
			script.WriteByte('\n')
		}
		script.WriteString(upwards(text, s.functions && d == MySQL))
		return nil
	})
	return script.String(), err
}

// upwards returns the statements of a migration between goose's annotations Up and Down, without the annotations. If
// delimit is true, commands of the mysql client replace the annotations around a statement that contains semicolons.
func upwards(text string, delimit bool) string {
	var b strings.Builder
	up := false
	for line := range strings.Lines(text) {
		word, annotation := strings.CutPrefix(strings.TrimSpace(line), "-- +goose ")
		switch {
		case annotation && word == "Up":
			up = true
		case annotation && word == "Down":
			up = false
		case up && delimit && word == "StatementBegin":
			b.WriteString("DELIMITER //\n")
		case up && delimit && word == "StatementEnd":
			b.WriteString("//\nDELIMITER ;\n")
		case up && !annotation:
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String()) + "\n"
}
