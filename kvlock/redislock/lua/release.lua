#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock, which is also the name of its channel; ARGV nonce, token or 0 for any, minimum hold in microseconds, retention in milliseconds, what the channel of a waiter begins with, 1 if not all who listen are connected to this server.
-- Result: 1 when the lock is released, now or before; 0 when the grant is not known any more.
-- Promise: repeatable; the token stays; calls the waiter that has waited longest, for whom the lock is kept for 50 ms if its minimum hold is over; without one, who listens on the lock's channel is told.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'acquired_at', 'expires_at', 'clock', 'waiters', 'reserved_for')
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
local queue, reserved = row[6] or '', ''
while free == now and #queue > 0 and reserved == '' do
    -- Each is called once: who does not come stands at the end when it asks again. Whom nobody listens for is dead.
    local id, seen = string.sub(queue, 1, 36), string.sub(queue, 38, 53)
    if now - seen < 3000000 then
        local heard = redis.pcall('PUBLISH', ARGV[5] .. id, KEYS[1])
        if type(heard) ~= 'number' then
            break -- the account may not publish: those who wait poll
        end
        reserved = (heard > 0 or ARGV[6] == '1') and id or ''
    end
    queue = string.sub(queue, 55)
end
redis.call('HSET', KEYS[1], 'nonce', '', 'expires_at', row[4] - now < 0 and row[4] or present,
    'held_until', free == now and reserved == '' and present or string.format('%.0f', reserved == '' and free or now + 50000), 'clock', present)
if queue ~= (row[6] or '') or reserved ~= (row[7] or '') then
    redis.call('HSET', KEYS[1], 'waiters', queue, 'reserved_for', reserved)
end
redis.call('PEXPIRE', KEYS[1], free == now and ARGV[4] or string.format('%.0f', math.ceil((free - now) / 1000) + ARGV[4]))
if reserved == '' then
    redis.pcall('PUBLISH', KEYS[1], '') -- a hint: an account that may not publish may release all the same
end
return 1
