-- Parameters: KEYS[1] the lock; ARGV nonce, holder, note; in microseconds TTL, minimum hold, hand-over delay; for how many milliseconds the lock is remembered.
-- Result: the token if it is granted; else verdict, token, and of whoever has the lock: holder, note, microseconds since the grant and until it is free.
-- Promise: one request; writes nothing unless it grants; the nonce of the present grant gets that grant again.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'held_until', 'clock')
local nonce, token, free, clock = row[1], row[2] or 0, row[3] or 0, row[4] or 0
local time = redis.call('TIME')
-- The clock of a lock never goes back: what one request has seen, the next sees no earlier.
local now = math.max(time[1] * 1000000 + time[2], clock)

local same = nonce == ARGV[1]
if free - now > 0 and not same then
    local other = redis.call('HMGET', KEYS[1], 'holder', 'note', 'acquired_at', 'expires_at')
    local verdict = 'leased'
    if nonce == '' then
        verdict = 'min hold'
    elseif other[4] - now <= 0 then
        verdict = 'handover'
    end
    return {verdict, tonumber(token), other[1], other[2], now - other[3], free - now}
end

local acquired = now
if same then
    acquired = tonumber(redis.call('HMGET', KEYS[1], 'acquired_at')[1])
else
    token = math.max(token + 1, now)
end
local expires = now + ARGV[4]
free = math.max(expires + ARGV[6], acquired + ARGV[5])
-- A number is written with all its digits, and mostly it is one of two.
local present, ending = string.format('%.0f', now), string.format('%.0f', expires)
local digits = function(x)
    return x == now and present or x == expires and ending or string.format('%.0f', x)
end
redis.call('HSET', KEYS[1], 'nonce', ARGV[1], 'token', digits(token), 'holder', ARGV[2], 'note', ARGV[3],
    'acquired_at', digits(acquired), 'expires_at', ending, 'held_until', digits(free), 'clock', present)
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return tonumber(token)
