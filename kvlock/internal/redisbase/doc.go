// Package redisbase contains the code that packages redislock and redlock share. It encodes the keys of locks, runs Lua
// scripts, implements the queue of waiting processes, and subscribes to the notifications that wake them. It also
// parses the server's INFO, and lists locks.
package redisbase
