package redisbase

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// minMajor is the oldest supported major version of Redis. Tests run on no older version.
const minMajor = 7

// Info is the reply to INFO, whose lines are "name:value".
type Info map[string]string

// ParseInfo parses the reply to INFO.
func ParseInfo(text string) Info {
	facts := make(Info)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			facts[name] = value
		}
	}
	return facts
}

// Refusal returns nil if the server may keep locks. Otherwise the error says why not, and what to change.
func (i Info) Refusal(cluster, allowEviction bool) error {
	version := i["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	number, err := strconv.Atoi(major)
	switch {
	case err == nil && number < minMajor:
		return fmt.Errorf("the server is Redis %s; locks need Redis %d or newer, or Valkey", version, minMajor)
	case i["role"] != "" && i["role"] != "master":
		return errors.New("the server is a replica: give the client the address of its primary, or use redis.NewFailoverClient")
	case i["cluster_enabled"] == "1" && !cluster:
		return errors.New("the server is part of a Cluster: use redis.NewClusterClient")
	case i["maxmemory_policy"] != "" && i["maxmemory_policy"] != "noeviction" && !allowEviction:
		return fmt.Errorf("the server's maxmemory-policy is %s, which evicts held locks when its memory is full: "+
			"set it to noeviction, use a separate server for locks, or accept evictions with redislock.AllowEviction", i["maxmemory_policy"])
	}
	return nil
}
