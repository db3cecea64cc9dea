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
	return "", errors.New("the server does not tell its version")
}

// commandCalls finds the commands that these libraries send again and again; what a script calls, INFO for one, is not among them.
var commandCalls = regexp.MustCompile(`(?m)^cmdstat_(?:set|eval|evalsha|blpop|rpush|subscribe|unsubscribe|ping):calls=(\d+)`)

// countRequests counts what clients have sent, to all nodes.
func countRequests(_ context.Context, at []string) (meter, func(), error) {
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
			for _, found := range commandCalls.FindAllStringSubmatch(text, -1) {
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
