// Package redisbase is the common part of packages redislock and redlock: the keys of locks, how scripts are run, the
// queue of waiting processes, the subscription that wakes them, the facts about a server, and the listing of locks.
package redisbase
