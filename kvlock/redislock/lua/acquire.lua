-- Parameters: KEYS[1] the lock; KEYS[2], unless its slot is moving, the record of the server; ARGV nonce, holder, note; in microseconds TTL, minimum hold, hand-over delay; for how many milliseconds the lock is remembered; the id of the waiter that asks, or an empty text.
-- Result: the token if it is granted; else verdict, token, and of whoever has the lock: holder, note, microseconds since the grant and until it is free, how many waiters have waited longer.
-- Promise: one request; writes nothing unless it grants or a waiter takes its place in the queue; the nonce of the present grant gets that grant again; a lock that was released and is kept for this waiter is granted to it.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'held_until', 'clock')
local nonce, free, clock = row[1], row[3] or 0, row[4] or 0
-- Of a lock that is forgotten, the record still knows that it had no larger token than top.
local token = row[2] or KEYS[2] and redis.call('HMGET', KEYS[2], 'top')[1] or 0
local time = redis.call('TIME')
-- The clock of a lock never goes back: what one request has seen, the next sees no earlier.
local now = math.max(time[1] * 1000000 + time[2], clock)

local same = nonce == ARGV[1]
if free - now > 0 and not same then
    local other = redis.call('HMGET', KEYS[1], 'holder', 'note', 'acquired_at', 'expires_at', 'reserved_for')
    local reserved = nonce == '' and other[5] or ''
    if ARGV[8] == '' or reserved ~= ARGV[8] then
        local verdict = 'leased'
        if reserved ~= '' then
            verdict = 'reserved'
        elseif nonce == '' then
            verdict = 'min hold'
        elseif other[4] - now <= 0 then
            verdict = 'handover'
        end
        local ahead = ARGV[8] ~= '' and join(KEYS[1], ARGV[8], now) or 0
        return {verdict, tonumber(token), other[1], other[2], now - other[3], free - now, ahead}
    end
end

if ARGV[8] ~= '' then
    quit(KEYS[1], ARGV[8]) -- before the grant, so that a refusal of the server leaves none; another waiter of this process stands at the end when it asks
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
