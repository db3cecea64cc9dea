package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"regexp"
	"strconv"
)

var (
	zxid       = regexp.MustCompile(`(?m)^Zxid: 0x([0-9a-f]+)$`)
	zooVersion = regexp.MustCompile(`(?m)^Zookeeper version: ([0-9.]+)`)
)

// askZooKeeper asks one server for its status.
func askZooKeeper(ctx context.Context, at []string, what *regexp.Regexp) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", at[0])
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	found := what.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("the server does not report %s", what)
	}
	return string(found[1]), nil
}

func zooKeeperVersion(ctx context.Context, at []string) (string, error) {
	return askZooKeeper(ctx, at, zooVersion)
}

// countZooKeeper returns a meter of the transactions, based on the number of the last transaction
// that a server reports.
func countZooKeeper(_ context.Context, at []string) (meter, func(), error) {
	return func(ctx context.Context) (float64, error) {
		last, err := askZooKeeper(ctx, at, zxid)
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseUint(last, 16, 64)
		return float64(n & math.MaxUint32), err // the upper half of the transaction number is the leader's epoch
	}, func() {}, nil
}
