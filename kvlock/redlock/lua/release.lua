#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock, which is also the name of its channel, KEYS[2] the record of the node, KEYS[3] the waiters for the lock; ARGV nonce; token, or 0 for any token; minimum hold in microseconds; the text with which the names of waiters' channels begin, or an empty text to notify nobody; the number of a ballot, or an empty text. With a ballot, only grants of that ballot or an earlier one are ended.
-- Result: 1 if this request or an earlier one has released the lock at this node; 0 if the grant is unknown.
-- Promise: may be repeated for five minutes, after which the lock is deleted. Until then the lock has the grant's token, even if this node never confirmed that token, and the record's token is at least as large. Notifies the waiter that has waited longest, but does not reserve the lock for it. If no waiter is subscribed, notifies all subscribers of the lock's channel.
local number = function(x) return string.format('%.0f', x) end
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'acquired_at', 'expires_at', 'clock', 'confirmed', 'ballot', 'prior')
local any, failed = ARGV[2] == '0', ARGV[5] ~= ''
if row[1] == '' and row[2] == ARGV[2] and not any then
    return 1
end
if row[1] ~= ARGV[1] or not (any or row[6] == ARGV[2] or row[6] == '0') then
    return 0
end
if failed and (row[7] or 0) - ARGV[5] > 0 then
    return 0
end
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], row[5])
local free = math.max(now, row[3] + ARGV[3])
local token = row[2] - ARGV[2] < 0 and ARGV[2] or row[2]
if failed then
    token = row[8] or token -- the attempt failed, so no holder has the token of the attempt
end
local present = number(now)
redis.call('HSET', KEYS[1], 'nonce', '', 'confirmed', '0', 'token', token,
    'expires_at', row[4] - now < 0 and row[4] or present, 'held_until', free == now and present or number(free), 'clock', present)
redis.call('PEXPIRE', KEYS[1], free == now and 300000 or number(math.ceil((free - now) / 1000) + 300000))
if row[6] ~= ARGV[2] and token - (redis.call('HGET', KEYS[2], 'top') or 0) > 0 then -- a confirmed token is already in the record
    redis.call('HSET', KEYS[2], 'top', token)
end
if ARGV[4] == '' then
    return 1
end
if free > now or not call(KEYS[3], ARGV[4], KEYS[1]) then
    redis.pcall('PUBLISH', KEYS[1], '') -- pcall ignores an error, so that an account that may not publish can still release
end
return 1
