package main

import (
	"context"
	"errors"
	"regexp"
	"strconv"

	"github.com/redis/go-redis/v9"
)

func redisVersion(ctx context.Context, at []string) (string, error) {
	client, err := openRedis(at[0])
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }()
	text, err := client.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	if found := regexp.MustCompile(`redis_version:(\S+)`).FindStringSubmatch(text); found != nil {
		return found[1], nil
	}
	return "", errors.New("the server does not report its version")
}

// These variables name the commands that are counted. Redis counts a command that a script calls as if a client had
// sent it. So these variables name only commands that clients send, and that no script of the measured libraries calls.
var (
	countRequests = countCommands("set|eval|evalsha|blpop|rpush|subscribe|unsubscribe|ping")
	// Used for a library whose scripts call SET. SET is not counted there.
	countScripts = countCommands("eval|evalsha|ping")
)

// countCommands counts the commands that clients have sent to all nodes.
func countCommands(names string) counter {
	calls := regexp.MustCompile(`(?m)^cmdstat_(?:` + names + `):calls=(\d+)`)
	return func(_ context.Context, at []string) (meter, func(), error) { return readCommands(at, calls) }
}

func readCommands(at []string, calls *regexp.Regexp) (meter, func(), error) {
	var clients []*redis.Client
	leave := func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}
	for _, url := range at {
		client, err := openRedis(url)
		if err != nil {
			leave()
			return nil, nil, err
		}
		clients = append(clients, client)
	}
	return func(ctx context.Context) (sum float64, err error) {
		for _, c := range clients {
			text, err := c.Info(ctx, "commandstats").Result()
			if err != nil {
				return 0, err
			}
			for _, found := range calls.FindAllStringSubmatch(text, -1) {
				n, err := strconv.ParseFloat(found[1], 64)
				if err != nil {
					return 0, err
				}
				sum += n
			}
		}
		return sum, nil
	}, leave, nil
}
