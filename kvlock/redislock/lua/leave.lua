#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock and its channel; ARGV the id of a waiter; the text with which the names of waiters' channels begin; 1 if subscribers may be connected to other servers.
-- Result: 1.
-- Promise: no release notifies this waiter any longer. If the lock is reserved for this waiter, it is reserved for the next waiter instead, as in release.lua, or becomes free. If the lock is shared and no writer waits, notifies the next waiter, because the notification for this waiter may have been lost.
local queue = queue(KEYS[1])
queue.quit(ARGV[1])
local row = redis.call('HMGET', KEYS[1], 'nonce', 'held_until', 'clock', 'reserved_for', 'writer_until')
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], row[3] or 0)
if row[1] == 'shared' and row[2] - now > 0 and (row[5] or 0) - now <= 0 then
    queue.notify(ARGV[2], now, ARGV[3] == '1')
end
if row[1] ~= '' or row[4] ~= ARGV[1] or row[2] - now <= 0 then
    return 1
end
local reserved = queue.call(ARGV[2], now, ARGV[3] == '1')
redis.call('HSET', KEYS[1], 'reserved_for', reserved, 'held_until', string.format('%.0f', reserved == '' and now or now + 50000))
if reserved == '' then
    redis.pcall('PUBLISH', KEYS[1], '')
end
return 1
