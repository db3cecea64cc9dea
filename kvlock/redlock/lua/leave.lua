#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock and its channel, KEYS[2] the waiters for the lock; ARGV the id of a waiter; the text
-- with which the names of waiters' channels begin. Result: 1. Promise: no release at this node notifies this waiter
-- any longer. If the lock is free, notifies the next waiter. The next waiter must be notified because this waiter may
-- have used up the notification of a release: it was notified, but its request met an attempt of another client, which
-- failed later.
redis.pcall('ZREM', KEYS[2], ARGV[1])
local row = redis.call('HMGET', KEYS[1], 'nonce', 'held_until', 'clock')
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(row[3]) or 0)
if row[1] == '' and tonumber(row[2]) <= now and not call(KEYS[2], ARGV[2], KEYS[1]) then
    redis.pcall('PUBLISH', KEYS[1], '')
end
return 1
