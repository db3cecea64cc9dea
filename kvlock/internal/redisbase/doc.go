// Package redisbase is the common part of packages redislock and redlock. It has the keys of locks, scripts and how
// they are run, the queue of waiting processes, and the subscription that wakes them. It also reads facts about a
// server, and lists locks.
package redisbase
