package cli

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/migrations"
)

// location is where a store is, as --store says it.
type location struct {
	dialect migrations.Dialect
	path    string        // of a SQLite file
	postURL string        // of a Postgres server, for pgx
	mysql   *mysql.Config // of a MySQL or MariaDB server
	shown   string        // for people: without its password
	byName  bool          // it was asked for, not the default
	session string        // the scheme of a store of session locks; empty: lease rows

	keyValue *keyValue // of a store without tables; it has neither dialect nor session
}

// masked stands where a password was.
const masked = "xxxxx"

var errStore = errors.New("write sqlite:PATH, postgres://USER@HOST/DATABASE, mysql://USER@HOST/DATABASE or USER@tcp(HOST)/DATABASE, " +
	"redis://HOST, rediss://HOST, redis+cluster://HOST,HOST, redlock://HOST,HOST,HOST, etcd://HOST,HOST or zk://HOST,HOST, " +
	"or for locks of sessions postgres-advisory://USER@HOST/DATABASE, mysql-getlock://USER@HOST/DATABASE or mysql-getlock:USER@tcp(HOST)/DATABASE")

// parseLocation reads the value of --store. Its errors never repeat the value, which may hold a
// password anywhere if it is malformed.
func parseLocation(s string) (location, error) {
	scheme, rest, _ := strings.Cut(s, ":")
	_, keyValue := kinds[scheme]
	switch {
	case keyValue && strings.HasPrefix(rest, "//"):
		return keyValueLocation(scheme, rest)
	case scheme == advisoryScheme && strings.HasPrefix(rest, "//"):
		return sessionLocation(scheme, "postgres", rest, postgresLocation)
	case scheme == getLockScheme && strings.HasPrefix(rest, "//"):
		return sessionLocation(scheme, "mysql", rest, mysqlLocation)
	case scheme == getLockScheme && strings.Contains(rest, "@"):
		return sessionLocation(scheme, "", rest, mysqlDSN)
	case scheme == "sqlite":
		return sqliteLocation(rest)
	case (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		return postgresLocation(s)
	case (scheme == "mysql" || scheme == "mariadb") && strings.HasPrefix(rest, "//"):
		return mysqlLocation(s)
	case strings.Contains(s, "@") && !strings.Contains(s, "://"):
		return mysqlDSN(s)
	default:
		return location{}, errStore
	}
}

// sqliteLocation takes everything behind "sqlite:" for the path; three slashes are one, as in a URL
// without a host.
func sqliteLocation(rest string) (location, error) {
	if strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, "///") {
		return location{}, errors.New("a SQLite file has no host: write sqlite:PATH")
	}
	path := strings.TrimPrefix(rest, "//")
	switch {
	case path == "":
		return location{}, errors.New("the path of the SQLite file is missing: write sqlite:PATH")
	case strings.HasPrefix(path, ":memory:"):
		return location{}, errors.New("a SQLite database in memory is shared with nobody: write sqlite:PATH")
	}
	return location{dialect: migrations.SQLite, path: filepath.Clean(path), shown: "sqlite:" + path, byName: true}, nil
}

func postgresLocation(s string) (location, error) {
	u, err := parseURL(s)
	if err != nil {
		return location{}, err
	}
	return location{dialect: migrations.Postgres, postURL: s, shown: redact(u), byName: true}, nil
}

func mysqlLocation(s string) (location, error) {
	u, err := parseURL(s)
	if err != nil {
		return location{}, err
	}
	host, port := u.Hostname(), u.Port()
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = "3306"
	}
	database := strings.Trim(u.Path, "/")
	if database == "" {
		return location{}, errors.New("the database is missing: write mysql://USER@HOST/DATABASE")
	}
	dsn := "tcp(" + net.JoinHostPort(host, port) + ")/" + url.PathEscape(database)
	if u.RawQuery != "" {
		dsn += "?" + u.RawQuery
	}
	cfg, err := mysql.ParseDSN(dsn) // holds no password
	if err != nil {
		return location{}, err
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	return location{dialect: migrations.MySQL, mysql: cfg, shown: redact(u), byName: true}, nil
}

func mysqlDSN(s string) (location, error) {
	cfg, err := mysql.ParseDSN(s)
	if err != nil {
		return location{}, errStore // the driver's own error may quote any part of it
	}
	if cfg.DBName == "" {
		return location{}, errors.New("the database is missing: write USER@tcp(HOST)/DATABASE")
	}
	if strings.Contains(cfg.DBName, "@") {
		return location{}, errStore // what stands there is a user and a password
	}
	hidden := cfg.Clone()
	if hidden.Passwd != "" {
		hidden.Passwd = masked
	}
	return location{dialect: migrations.MySQL, mysql: cfg, shown: hidden.FormatDSN(), byName: true}, nil
}

// parseURL reads a URL; its error does not quote it.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("it is not a valid URL: special characters in user and password are written %XX")
	}
	return u, nil
}

// redact is u without passwords, wherever pgx would read one from.
func redact(u *url.URL) string {
	hidden := *u
	if _, ok := u.User.Password(); ok {
		hidden.User = url.UserPassword(u.User.Username(), masked)
	}
	query := u.Query()
	for key := range query {
		if strings.Contains(strings.ToLower(key), "password") {
			query.Set(key, masked)
			hidden.RawQuery = query.Encode()
		}
	}
	return hidden.String()
}
