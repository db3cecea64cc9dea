package redisbase

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// minMajor is the oldest Redis that the tests run on.
const minMajor = 7

// Info is what INFO says: its lines are "name:value".
type Info map[string]string

// ParseInfo reads the reply to INFO.
func ParseInfo(text string) Info {
	facts := make(Info)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			facts[name] = value
		}
	}
	return facts
}

// Refusal says why locks must not be kept on a server, and what to do.
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
		return fmt.Errorf("the server's maxmemory-policy is %s, which drops locks that are held when its memory is full: "+
			"set it to noeviction, keep locks on a server of their own, or accept it with redislock.AllowEviction", i["maxmemory_policy"])
	}
	return nil
}
