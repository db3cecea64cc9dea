#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock and its channel; ARGV the id of a waiter, what the channel of a waiter begins with.
-- Result: 1.
-- Promise: no release at this node calls this waiter any more; if it may have been called, the next one is.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'held_until', 'clock', 'waiters')
local queue = row[4] or ''
local at = string.find(queue, ARGV[1], 1, true)
if at then
    redis.call('HSET', KEYS[1], 'waiters', string.sub(queue, 1, at - 1) .. string.sub(queue, at + 54))
    return 1
end
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(row[3]) or 0)
if row[1] ~= '' or tonumber(row[2]) > now then
    return 1
end
local called = false
while #queue > 0 and not called do
    local id, seen = string.sub(queue, 1, 36), string.sub(queue, 38, 53)
    if now - seen < 3000000 then
        local heard = redis.pcall('PUBLISH', ARGV[2] .. id, KEYS[1])
        if type(heard) ~= 'number' then
            break
        end
        called = heard > 0
    end
    queue = string.sub(queue, 55)
end
if queue ~= (row[4] or '') then
    redis.call('HSET', KEYS[1], 'waiters', queue)
end
if not called then
    redis.pcall('PUBLISH', KEYS[1], '')
end
return 1
