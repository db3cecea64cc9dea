#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock, which is also the name of its channel, KEYS[2] the record of the node, KEYS[3] the
-- waiters for the lock; ARGV nonce; token, or 0 for any token; minimum hold in microseconds; the text with which the
-- names of waiters' channels begin; a number, or an empty text; the id of a waiter, or an empty text; when its wait
-- began. If the fifth argument is a number, the release undoes a failed attempt: it ends only grants of requests
-- with the same number or a smaller one, sends no notification, and adds the waiter to the set of waiters again.
-- Result: 1 if this request or an earlier one has released the lock at this node; 0 if the grant is unknown.
-- Promise: may be repeated for five minutes, after which the lock is deleted. Until then the lock has the grant's
-- token, even if this node never had the grant or never confirmed that token. So the mode fill of acquire.lua cannot
-- restore the lease. The record's token is at least as large. Notifies the waiter that has waited longest, but does
-- not reserve the lock for it. If no waiter is subscribed, notifies all subscribers of the lock's channel.
local number = function(x) return string.format('%.0f', x) end
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'acquired_at', 'expires_at', 'clock', 'confirmed', 'request', 'prior', 'held_until')
local any, failed = ARGV[2] == '0', ARGV[5] ~= ''
if row[1] == '' and row[2] == ARGV[2] and not any then
    return 1
end
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(row[5]) or 0)
if row[1] ~= ARGV[1] then
    if not any and (tonumber(row[9]) or 0) <= now and (tonumber(row[2]) or 0) < tonumber(ARGV[2]) then
        redis.call('HSET', KEYS[1], 'nonce', '', 'confirmed', '0', 'token', ARGV[2], 'acquired_at', number(now), 'expires_at', number(now), 'held_until', number(now), 'clock', number(now))
        redis.call('PEXPIRE', KEYS[1], 300000)
    end
    return 0
end
if not (any or row[6] == ARGV[2] or row[6] == '0') or failed and row[7] - ARGV[5] > 0 then
    return 0
end
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
if failed then
    enlist(KEYS[3], ARGV[6], ARGV[7])
    return 1
end
if free > now or not call(KEYS[3], ARGV[4], KEYS[1]) then
    redis.pcall('PUBLISH', KEYS[1], '') -- pcall ignores an error, so that an account that may not publish can still release
end
return 1
