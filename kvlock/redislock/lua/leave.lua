#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock and its channel; ARGV the id of a waiter, what the channel of a waiter begins with, 1 if not all who listen are connected to this server.
-- Result: 1.
-- Promise: no release calls this waiter any more; a lock that is kept for it is kept for the next one, as release.lua does it, or is free.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'held_until', 'clock', 'waiters', 'reserved_for')
local queue = row[4] or ''
local at = string.find(queue, ARGV[1], 1, true)
if at then
    queue = string.sub(queue, 1, at - 1) .. string.sub(queue, at + 54)
    redis.call('HSET', KEYS[1], 'waiters', queue)
end
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], row[3] or 0)
if row[1] ~= '' or row[5] ~= ARGV[1] or row[2] - now <= 0 then
    return 1
end
local reserved = ''
while #queue > 0 and reserved == '' do
    local id, seen = string.sub(queue, 1, 36), string.sub(queue, 38, 53)
    if now - seen < 3000000 then
        local heard = redis.pcall('PUBLISH', ARGV[2] .. id, KEYS[1])
        if type(heard) ~= 'number' then
            break
        end
        reserved = (heard > 0 or ARGV[3] == '1') and id or ''
    end
    queue = string.sub(queue, 55)
end
redis.call('HSET', KEYS[1], 'waiters', queue, 'reserved_for', reserved,
    'held_until', string.format('%.0f', reserved == '' and now or now + 50000))
if reserved == '' then
    redis.pcall('PUBLISH', KEYS[1], '')
end
return 1
