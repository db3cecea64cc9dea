package testenv_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/internal/testenv"
)

// The list of sessions can be read while a session runs a statement with characters outside utf8mb3.
func TestSessionsShowAnyStatement(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := dsn(t)
			config, err := mysql.ParseDSN(dsn)
			if err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("mysql", dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = db.ExecContext(ctx, "DO SLEEP(60), '😀'")
			}()
			defer func() { cancel(); <-ended }()
			for end := time.Now().Add(time.Minute); testenv.Working(t, db, config.DBName) != 1; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the statement is not shown")
				}
			}
			for _, s := range testenv.Sessions(t, db) {
				if s.Database == config.DBName && s.Statement != "DO SLEEP(60), '😀'" {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}
