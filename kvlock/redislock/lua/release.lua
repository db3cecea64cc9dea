#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock, which is also the name of its channel; ARGV nonce, token or 0 for any, minimum hold in microseconds, retention in milliseconds.
-- Result: 1 when the lock is released, now or before; 0 when the grant is not known any more.
-- Promise: repeatable; the token stays; who waits on the channel is told.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'acquired_at', 'expires_at', 'clock')
if row[1] == '' and row[2] == ARGV[2] then
    return 1
end
if row[1] ~= ARGV[1] or (ARGV[2] ~= '0' and row[2] ~= ARGV[2]) then
    return 0
end
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], row[5])
local free = math.max(now, row[3] + ARGV[3])
local present = string.format('%.0f', now)
redis.call('HSET', KEYS[1], 'nonce', '', 'expires_at', row[4] - now < 0 and row[4] or present,
    'held_until', free == now and present or string.format('%.0f', free), 'clock', present)
redis.call('PEXPIRE', KEYS[1], free == now and ARGV[4] or string.format('%.0f', math.ceil((free - now) / 1000) + ARGV[4]))
redis.pcall('PUBLISH', KEYS[1], '') -- a hint: an account that may not publish may release all the same
return 1
