package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
)

func etcdVersion(ctx context.Context, at []string) (string, error) {
	client, err := openEtcd(at)
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }()
	status, err := client.Status(ctx, at[0])
	if err != nil {
		return "", err
	}
	return status.Version, nil
}

var committed = regexp.MustCompile(`(?m)^etcd_server_proposals_committed_total (\S+)`)

// countEtcd returns a meter of the cluster's commits. Each node of the cluster knows their number.
func countEtcd(_ context.Context, at []string) (meter, func(), error) {
	return func(ctx context.Context) (float64, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at[0]+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		defer func() { _ = reply.Body.Close() }()
		text, err := io.ReadAll(reply.Body)
		if err != nil {
			return 0, err
		}
		found := committed.FindSubmatch(text)
		if found == nil {
			return 0, errors.New("the server does not report its commits")
		}
		return strconv.ParseFloat(string(found[1]), 64)
	}, func() {}, nil
}
