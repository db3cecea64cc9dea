// Package redisbase has what packages redislock and redlock share: the keys of locks, scripts and how they are run, the
// subscription that wakes waiters, what a server says of itself, and the listing of locks.
package redisbase
