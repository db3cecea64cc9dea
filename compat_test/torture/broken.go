//go:build linux

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// brokenConnection says whether an error is what becomes of a statement when the connection or the server goes: a guard
// returns what the driver said.
func brokenConnection(err error) bool {
	var server *pgconn.PgError
	var mysqlServer *mysql.MySQLError
	var network net.Error
	switch {
	case errors.As(err, &server): // connection exceptions, operator intervention, sessions that idled for too long
		return strings.HasPrefix(server.Code, "08") || strings.HasPrefix(server.Code, "57") || server.Code == "25P03"
	case errors.As(err, &mysqlServer):
		return strings.HasPrefix(string(mysqlServer.SQLState[:]), "08")
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EPIPE), errors.Is(err, sql.ErrTxDone),
		errors.Is(err, context.DeadlineExceeded):
		return true
	}
	return errors.As(err, &network) || pgconn.Timeout(err) || pgconn.SafeToRetry(err)
}
