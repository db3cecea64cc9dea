package testserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mysqld is Oracle's MySQL, installed on this machine or unpacked into the cache.
type mysqld struct {
	argv []string // the command line
	key  string   // the name of the folder with its initialised data
}

func (e *mysqld) provide(ctx context.Context, o Options) error {
	version := ""
	real := func(path string) bool {
		b, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").Output()
		version = string(b)
		return err == nil && !strings.Contains(version, "MariaDB") && strings.Contains(version, "Ver ")
	}
	if path := find("mysqld", nil, real); path != "" {
		e.argv = []string{path, "--no-defaults"}
	} else {
		u, err := unpack(ctx, o, "sid", "mysql-server-core")
		if err != nil {
			return &missing{"MySQL", "install MySQL 8 or newer", err}
		}
		share := filepath.Join(u.root, "usr/share/mysql")
		e.argv = append(u.argv("usr/sbin/mysqld"), "--no-defaults", "--basedir="+filepath.Join(u.root, "usr"),
			"--lc-messages-dir="+share, "--character-sets-dir="+filepath.Join(share, "charsets"),
			"--plugin-dir="+filepath.Join(u.root, "usr/lib/mysql/plugin"))
		if info, err := os.Stat(filepath.Join(u.root, "usr/sbin/mysqld")); err == nil {
			version = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
		}
	}
	e.argv = append(e.argv, asRoot()...)
	e.argv = append(e.argv, "--innodb-buffer-pool-size=64M", "--loose-innodb-redo-log-capacity=16M", "--performance-schema=OFF")
	e.key = fmt.Sprintf("%x", sha256.Sum256([]byte(version+strings.Join(e.argv, " "))))[:12]
	return nil
}

// prepare copies data that were initialised once, because initialising takes seconds. The copy generates a new
// server_uuid.
func (e *mysqld) prepare(ctx context.Context, f *folder, o Options) error {
	cache, err := cacheFolder()
	if err != nil {
		return err
	}
	template := filepath.Join(cache, "mysql-data-"+e.key)
	if _, err := os.Stat(template); err != nil {
		if err := alone("mysql-data", func(string) error { return e.initialise(ctx, template, f, o) }); err != nil {
			return err
		}
	}
	if o.Clock {
		if err := prepareClock(ctx, f); err != nil {
			return err
		}
	}
	return os.CopyFS(f.data(), os.DirFS(template))
}

func (e *mysqld) initialise(ctx context.Context, template string, f *folder, o Options) error {
	if _, err := os.Stat(template); err == nil {
		return nil // another launcher has initialised the data in the meantime
	}
	o.Logf("initialising MySQL's data, once")
	fresh := filepath.Join(f.path, "fresh")
	if err := runStep(ctx, command{argv: append(e.argv, "--datadir="+fresh, "--initialize-insecure", "--skip-log-bin")}, f, nil); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(fresh, "auto.cnf")); err != nil {
		return err
	}
	half := template + ".half" // the cache may be on another disk, and a rename does not work across disks
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	if err := os.CopyFS(half, os.DirFS(fresh)); err != nil {
		return err
	}
	if err := os.Rename(half, template); err != nil {
		return err
	}
	return os.RemoveAll(fresh)
}

func (e *mysqld) command(f *folder, port int, o Options) command {
	argv := append(append([]string{}, e.argv...), "--datadir="+f.data())
	return command{argv: append(argv, mysqlOptions(f, port, o)...), env: clockOf(f, o)}
}

func (e *mysqld) dsn(port int) string { return mysqlDSN(port, testDatabase) }

func (e *mysqld) identify(ctx context.Context, dsn string, f *folder) (bool, error) {
	return identifyMySQL(ctx, dsn, f)
}

func (e *mysqld) finish(ctx context.Context, dsn string) error { return createTestDatabase(ctx, dsn) }
