// Package redisbase has what packages redislock and redlock share: the keys of locks, scripts and how they are run, the
// queue of the processes that wait, the subscription that wakes them, what a server says of itself, and the listing of locks.
package redisbase
