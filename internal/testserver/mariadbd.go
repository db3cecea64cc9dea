package testserver

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// mariadbd is the engine of MariaDB.
type mariadbd struct {
	cluster  bool // if true, the server is the only node of a Galera cluster
	argv     []string
	share    string // the folder of the SQL files and messages of the installation
	provider string // the path of Galera's library
}

func (e *mariadbd) provide(ctx context.Context, o Options) error {
	library := ""
	if e.cluster {
		var err error
		look := func() string {
			return firstMatch("/usr/lib/galera/libgalera_smm.so", "/usr/lib*/galera-4/libgalera_smm.so")
		}
		if library, err = provideWithApt(ctx, o, "Galera", "galera-4", look); err != nil {
			return err
		}
	}
	if o.Version != "" {
		return e.provideFrom(ctx, o)
	}
	path, err := provideWithApt(ctx, o, "MariaDB", "mariadb-server-core", func() string { return find("mariadbd", nil, nil) })
	if err != nil {
		return err
	}
	e.provider = library
	return e.installed(filepath.Dir(filepath.Dir(path)), []string{path})
}

// provideFrom unpacks MariaDB from another Debian suite into the cache.
func (e *mariadbd) provideFrom(ctx context.Context, o Options) error {
	u, err := unpack(ctx, o, o.Version, "mariadb-server-core")
	if err != nil {
		return &missing{"MariaDB of Debian " + o.Version, "use a Debian with its package tools", err}
	}
	prefix := filepath.Join(u.root, "usr")
	if err := e.installed(prefix, u.argv("usr/sbin/mariadbd")); err != nil {
		return err
	}
	e.argv = append(e.argv, "--plugin-dir="+filepath.Join(prefix, "lib/mysql/plugin"))
	return nil
}

// installed stores the paths of the files that are installed below the folder prefix. It also stores argv, the command
// line of the server.
func (e *mariadbd) installed(prefix string, argv []string) error {
	tables := firstMatch(filepath.Join(prefix, "share/*/mariadb_system_tables.sql"), filepath.Join(prefix, "share/*/mysql_system_tables.sql"))
	if tables == "" {
		return errors.New("no mariadb_system_tables.sql under " + prefix + "/share; the installation is not complete")
	}
	e.share = filepath.Dir(tables)
	e.argv = append(argv, append([]string{"--no-defaults", "--basedir=" + prefix, "--lc-messages-dir=" + e.share,
		"--character-sets-dir=" + filepath.Join(e.share, "charsets")}, asRoot()...)...)
	e.argv = append(e.argv, "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M")
	return nil
}

// prepare runs the server's bootstrap mode with the SQL files of the package, as mariadb-install-db does.
// That program itself is in another package.
func (e *mariadbd) prepare(ctx context.Context, f *folder, o Options) error {
	if o.Clock {
		if err := prepareClock(ctx, f); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(f.data(), "mysql"), 0o755); err != nil {
		return err
	}
	script := filepath.Join(f.path, "bootstrap.sql")
	if err := e.writeBootstrap(script); err != nil {
		return err
	}
	in, err := os.Open(script)
	if err != nil {
		return err
	}
	defer in.Close()
	argv := append(append([]string{}, e.argv...), "--datadir="+f.data(), "--bootstrap", "--log-warnings=0", "--enforce-storage-engine=",
		"--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--innodb-doublewrite=OFF")
	return runStep(ctx, command{argv: argv}, f, in)
}

func (e *mariadbd) writeBootstrap(path string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, "create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n")
	for _, part := range []string{"system_tables", "performance_tables", "system_tables_data"} {
		err = errors.Join(err, e.appendSQL(out, part))
	}
	return errors.Join(err, out.Close())
}

// appendSQL writes an SQL file of the package to the writer out. The file's name depends on the release.
func (e *mariadbd) appendSQL(out io.Writer, part string) error {
	in, err := os.Open(firstMatch(filepath.Join(e.share, "mariadb_"+part+".sql"), filepath.Join(e.share, "mysql_"+part+".sql")))
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}

func (e *mariadbd) command(f *folder, port int, o Options) command {
	argv := append(append([]string{}, e.argv...), "--datadir="+f.data())
	if e.provider != "" {
		// A node listens on a port for other nodes of the cluster. Here there are none, so any port works.
		argv = append(argv, "--wsrep-on=ON", "--wsrep-provider="+e.provider, "--wsrep-cluster-address=gcomm://",
			"--wsrep-node-address=127.0.0.1", "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:0;gcache.size=1M",
			"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2")
	}
	return command{argv: append(argv, mysqlOptions(f, port, o)...), env: clockOf(f, o)}
}

func (e *mariadbd) dsn(port int) string { return mysqlDSN(port, testDatabase) }

func (e *mariadbd) identify(ctx context.Context, dsn string, f *folder) (bool, error) {
	return identifyMySQL(ctx, dsn, f)
}

func (e *mariadbd) finish(ctx context.Context, dsn string) error { return createTestDatabase(ctx, dsn) }
