#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock, which is also the name of its channel; ARGV nonce, token or 0 for any, minimum hold in microseconds, retention in milliseconds, what the channel of a waiter begins with, or an empty text to tell nobody; the number of a ballot if only what that one or an earlier one has had granted is to end, or an empty text.
-- Result: 1 when the lock is released here, now or before; 0 when the grant is not known any more.
-- Promise: repeatable; the token stays, and is that of the grant even where it was never confirmed; calls the waiter that has waited longest at this node; without one, who listens on the lock's channel is told.
local number = function(x) return string.format('%.0f', x) end
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'acquired_at', 'expires_at', 'clock', 'confirmed', 'waiters', 'ballot')
local any = ARGV[2] == '0'
if row[1] == '' and row[2] == ARGV[2] and not any then
    return 1
end
if row[1] ~= ARGV[1] or not (any or row[6] == ARGV[2] or row[6] == '0') then
    return 0
end
if ARGV[6] ~= '' and (tonumber(row[8]) or 0) > tonumber(ARGV[6]) then
    return 0
end
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(row[5]))
local free = math.max(now, tonumber(row[3]) + tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'nonce', '', 'confirmed', '0', 'token', number(math.max(tonumber(row[2]), tonumber(ARGV[2]))),
    'expires_at', number(math.min(tonumber(row[4]), now)), 'held_until', number(free), 'clock', number(now))
redis.call('PEXPIRE', KEYS[1], number(math.ceil((free - now) / 1000) + tonumber(ARGV[4])))
if ARGV[5] == '' then
    return 1
end
local queue, called = row[7] or '', false
while free == now and #queue > 0 and not called do
    -- As in release.lua, but nothing is kept for whoever is called: the nodes need not agree on who that is.
    local id, seen = string.sub(queue, 1, 36), string.sub(queue, 38, 53)
    if now - seen < 3000000 then
        local heard = redis.pcall('PUBLISH', ARGV[5] .. id, KEYS[1])
        if type(heard) ~= 'number' then
            break
        end
        called = heard > 0
    end
    queue = string.sub(queue, 55)
end
if queue ~= (row[7] or '') then
    redis.call('HSET', KEYS[1], 'waiters', queue)
end
if not called then
    redis.pcall('PUBLISH', KEYS[1], '') -- a hint: an account that may not publish may release all the same
end
return 1
