package store

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/migrations"
)

// Location is the parsed address of a store, from --store.
type Location struct {
	Dialect     migrations.Dialect
	Path        string        // the path of a SQLite file
	PostgresURL string        // the address of a Postgres server, for pgx
	MySQL       *mysql.Config // the address of a MySQL or MariaDB server
	Shown       string        // the address for messages, without its password
	ByName      bool          // false if the store is the default store
	Session     string        // the scheme of a store of session locks; empty for lease rows

	KeyValue *KeyValue // set only for a store without tables; Dialect and Session are then empty
}

// masked replaces a password in messages.
const masked = "xxxxx"

var errMySQL = errors.New("it is not a MySQL address: write USER:PASSWORD@tcp(HOST:PORT)/DATABASE")

// parseLocation parses the value of --store. Its errors never repeat the value, because a password may be anywhere in a
// malformed value.
func parseLocation(s string) (Location, error) {
	scheme, rest, _ := strings.Cut(s, ":")
	_, keyValue := kinds[scheme]
	if body, ok := strings.CutPrefix(rest, "//"); ok && scheme != "sqlite" && cutPassword(body) {
		return Location{}, errors.New("an @ follows the host, so a / ? or # in the password may have ended the user part early: " +
			"in user and password write / as %2F, ? as %3F, # as %23, and elsewhere @ as %40")
	}
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
		return Location{}, unknownStore(scheme, rest)
	}
}

// Locate parses the value of --store. For an empty value or "local" it returns the default SQLite file of this user.
func Locate(value string, env system.Environment) (Location, error) {
	if value == "" || value == Local {
		return defaultLocation(env)
	}
	at, err := parseLocation(value)
	if err != nil {
		return Location{}, exit.Usagef("--store: %w", err)
	}
	return at, nil
}

// word matches a text that can be shown as a scheme. Any other text may be part of a password.
const word = `^[a-z][a-z0-9+-]{0,20}$`

// unknownStore returns an error that says what is wrong with the value. The error repeats only the scheme.
func unknownStore(scheme, rest string) error {
	forms := map[string]string{
		"postgres": "postgres://USER@HOST/DATABASE", "postgresql": "postgres://USER@HOST/DATABASE", "mysql": "mysql://USER@HOST/DATABASE", "mariadb": "mysql://USER@HOST/DATABASE",
		advisoryScheme: advisoryScheme + "://USER@HOST/DATABASE", getLockScheme: getLockScheme + "://USER@HOST/DATABASE",
	}
	form := forms[scheme]
	if kind, ok := kinds[scheme]; ok {
		form = kind.form
	}
	switch {
	case form != "":
		return fmt.Errorf("%q is not followed by //: write %s", scheme+":", form)
	case strings.HasPrefix(rest, "//") && regexp.MustCompile(word).MatchString(scheme):
		return fmt.Errorf("there is no kind of store %q: write postgres://…, mysql://…, sqlite:PATH, redis://…, etcd://… or zk://… (rowlock --help has all)", scheme)
	default:
		return errors.New("it names no kind of store: write sqlite:PATH for a file, or SCHEME://…")
	}
}

// cutPassword reports whether the URL contains an @ after its user and host part. This happens if a password contains
// an unescaped slash, question mark or hash, which ends that part early. Then the rest of the password would be parsed
// and shown as the path.
func cutPassword(body string) bool {
	end := strings.IndexAny(body, "/?#")
	return end >= 0 && strings.Contains(body[end:], "@")
}

// sqliteLocation uses everything after "sqlite:" as the path. Three slashes at its start count as one,
// as in a URL without a host.
func sqliteLocation(rest string) (Location, error) {
	if strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, "///") {
		return Location{}, errors.New("a SQLite file has no host: write sqlite:PATH")
	}
	path := strings.TrimPrefix(rest, "//")
	switch {
	case path == "":
		return Location{}, errors.New("the path of the SQLite file is missing: write sqlite:PATH")
	case strings.HasPrefix(path, ":memory:"):
		return Location{}, errors.New("no other process can use a SQLite database in memory: write sqlite:PATH")
	}
	return Location{Dialect: migrations.SQLite, Path: filepath.Clean(path), Shown: "sqlite:" + path, ByName: true}, nil
}

func postgresLocation(s string) (Location, error) {
	u, err := parseURL(s)
	if err != nil {
		return Location{}, err
	}
	return Location{Dialect: migrations.Postgres, PostgresURL: s, Shown: redact(u), ByName: true}, nil
}

func mysqlLocation(s string) (Location, error) {
	u, err := parseURL(s)
	if err != nil {
		return Location{}, err
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
		return Location{}, errors.New("the database is missing: write mysql://USER@HOST/DATABASE")
	}
	dsn := "tcp(" + net.JoinHostPort(host, port) + ")/" + url.PathEscape(database)
	if u.RawQuery != "" {
		dsn += "?" + u.RawQuery
	}
	cfg, err := mysql.ParseDSN(dsn) // ParseDSN checks the address, which has no password here
	if err != nil {
		return Location{}, err
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	return Location{Dialect: migrations.MySQL, MySQL: cfg, Shown: redact(u), ByName: true}, nil
}

func mysqlDSN(s string) (Location, error) {
	cfg, err := mysql.ParseDSN(s)
	if err != nil {
		return Location{}, errMySQL // the driver's own error may quote any part of the address
	}
	if cfg.DBName == "" {
		return Location{}, errors.New("the database is missing: write USER@tcp(HOST)/DATABASE")
	}
	if strings.Contains(cfg.DBName, "@") {
		return Location{}, errMySQL // an @ in the database name means that the name contains part of a password
	}
	hidden := cfg.Clone()
	if hidden.Passwd != "" {
		hidden.Passwd = masked
	}
	return Location{Dialect: migrations.MySQL, MySQL: cfg, Shown: hidden.FormatDSN(), ByName: true}, nil
}

// parseURL parses a URL. Its error does not quote the URL.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("it is not a valid URL: special characters in user and password are written %XX")
	}
	return u, nil
}

// redact returns the URL u as a text, and masks the passwords. It masks every part of the URL from which pgx reads a
// password.
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

// Excludes describes the processes that a lock in this store excludes.
func (at Location) Excludes() string {
	switch {
	case at.KeyValue != nil:
		return "processes that use " + at.KeyValue.reaches
	case at.Dialect == migrations.SQLite && !at.ByName:
		return "processes of this user on this machine"
	case at.Dialect == migrations.SQLite:
		return "processes of this machine that use this file"
	case at.Session == advisoryScheme:
		return "processes that use this one server and database"
	case at.Session != "":
		return "processes that use this one server"
	default:
		return "processes that use this database"
	}
}
