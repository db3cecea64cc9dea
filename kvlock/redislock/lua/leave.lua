#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock and its channel; ARGV the id of a waiter, what the channel of a waiter begins with, 1 if not all who listen are connected to this server.
-- Result: 1.
-- Promise: no release calls this waiter any more; a lock that is kept for it is kept for the next one, as release.lua does it, or is free.
quit(KEYS[1], ARGV[1])
local row = redis.call('HMGET', KEYS[1], 'nonce', 'held_until', 'clock', 'reserved_for')
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], row[3] or 0)
if row[1] ~= '' or row[4] ~= ARGV[1] or row[2] - now <= 0 then
    return 1
end
local reserved = call(KEYS[1], ARGV[2], now, ARGV[3] == '1')
redis.call('HSET', KEYS[1], 'reserved_for', reserved, 'held_until', string.format('%.0f', reserved == '' and now or now + 50000))
if reserved == '' then
    redis.pcall('PUBLISH', KEYS[1], '')
end
return 1
