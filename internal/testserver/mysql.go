package testserver

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mysqlOptions are options for MySQL and MariaDB. An option that only one of them knows has the prefix loose.
func mysqlOptions(f *folder, port int, o Options) []string {
	options := []string{
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port),
		"--socket=server.sock", // relative to the data folder, because a full path may be too long for a socket
		"--pid-file=" + filepath.Join(f.path, "pid"),
		"--max-connections=500", "--skip-log-bin", "--loose-mysqlx=OFF", "--secure-file-priv=" + f.path,
	}
	if o.Durable {
		options = append(options, "--innodb-flush-log-at-trx-commit=1")
	} else {
		options = append(options, "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--innodb-doublewrite=OFF")
	}
	return append(options, o.Args...)
}

// asRoot returns the options that MySQL and MariaDB need to run as root.
func asRoot() []string {
	if os.Getuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func mysqlDSN(port int, database string) string {
	return fmt.Sprintf("root@tcp(127.0.0.1:%d)/%s", port, database)
}

const testDatabase = "rowlock"

// identifyMySQL connects to a database that exists in every server.
func identifyMySQL(ctx context.Context, dsn string, f *folder) (bool, error) {
	db, err := openMySQL(dsn)
	if err != nil {
		return false, err
	}
	defer db.Close()
	var folder string
	err = db.QueryRowContext(ctx, "SELECT @@datadir").Scan(&folder)
	return sameFile(folder, f.data()), err
}

func createTestDatabase(ctx context.Context, dsn string) error {
	db, err := openMySQL(dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+testDatabase)
	return err
}

// openMySQL returns a handle that selects no database. It turns the driver's log off, because a server
// that is still starting does not answer.
func openMySQL(dsn string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.DBName, config.Logger, config.Timeout = "", &mysql.NopLogger{}, 2*time.Second
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
