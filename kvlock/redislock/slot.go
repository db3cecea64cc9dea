package redislock

import (
	"strconv"
	"strings"
	"sync"
)

// slots is how many slots a Cluster has.
const slots = 16384

// slot is where a Cluster keeps a key: CRC-16/XMODEM of the key, or of its hash tag.
func slot(key string) int {
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

// tags are, for each slot, the smallest number that is a hash tag of it.
var tags = sync.OnceValue(func() *[slots]string {
	var list [slots]string
	for n, missing := 0, slots; missing > 0; n++ {
		tag := strconv.Itoa(n)
		if at := slot(tag); list[at] == "" {
			list[at] = tag
			missing--
		}
	}
	return &list
})
