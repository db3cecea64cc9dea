package redisbase

import (
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// slots is how many slots a Cluster has.
const slots = 16384

// Slot returns the slot of a key in a Cluster: the CRC-16/XMODEM of the key, or of its hash tag.
func Slot(key string) int {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if length := strings.IndexByte(key[open+1:], '}'); length > 0 {
			key = key[open+1 : open+1+length]
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

// tags holds one hash tag for each slot: the smallest number whose decimal text belongs to that slot.
var tags = sync.OnceValue(func() *[slots]string {
	var list [slots]string
	for n, missing := 0, slots; missing > 0; n++ {
		tag := strconv.Itoa(n)
		if at := Slot(tag); list[at] == "" {
			list[at] = tag
			missing--
		}
	}
	return &list
})

// IsCluster reports whether client is the client of a Cluster.
func IsCluster(client redis.UniversalClient) bool {
	_, ok := client.(*redis.ClusterClient)
	return ok
}

// Recorded returns the keys for a script that uses one lock and the server's record. On a Cluster each slot has its own
// record, because a script can use the keys of one slot only.
func Recorded(client redis.UniversalClient, prefix Prefix, key string) []string {
	record := prefix.Record()
	if !IsCluster(client) {
		return []string{key, record}
	}
	if at := Slot(key); Slot(record) != at { // the slots are equal if the prefix has a hash tag
		record += "{" + tags()[at] + "}"
	}
	return []string{key, record}
}
