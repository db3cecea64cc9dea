-- Parameters: KEYS[1] the lock; KEYS[2] the record of the server, absent while its slot is moving; ARGV[1] nonce,
-- [2] holder, [3] note; [4] TTL, [5] minimum hold and [6] hand-over delay in microseconds; [7] how long the server
-- remembers the lock, in milliseconds; [8] the id of the waiter that sends the request, or an empty text; [9] how long
-- no share joins if the request is refused because of shares, in microseconds, or 0. Result: the token if the lock is granted, and with it the last
-- tick if the lock has one. Otherwise a verdict, the token, the holder and note of the current grant, microseconds
-- since the grant, microseconds until the lock is free, two fields that only inspect.lua fills, the number of waiters
-- before this one, and the number of shares. Promise: writes only if it grants the lock, adds a waiter to the
-- queue, or keeps out further shares until the writers that wait have given up. A request with the nonce of the current
-- grant gets that grant again. A released lock that is reserved for this waiter is granted to it.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'held_until', 'clock', 'done', 'writer_until', 'readers')
local nonce, free, clock = row[1], row[3] or 0, row[4] or 0
-- If the lock was deleted, its last token was not larger than the record's top.
local token = row[2] or KEYS[2] and redis.call('HMGET', KEYS[2], 'top')[1] or 0
local time = redis.call('TIME')
-- The clock of a lock never goes back: no request sees an earlier time than the request before it.
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
        local ahead = ARGV[8] ~= '' and queue(KEYS[1]).join(ARGV[8], now) or 0
        if nonce == 'shared' and ARGV[9] ~= '0' then
            local writers = (row[6] or 0) - now > 0 and redis.call('HMGET', KEYS[1], 'writers')[1] or ''
            if not string.find(writers, ARGV[1], 1, true) then
                writers = writers .. ARGV[1] .. ','
            end
            redis.pcall('HSET', KEYS[1], 'writer_until', string.format('%.0f', now + ARGV[9]), 'writers', writers) -- pcall ignores an error, so that a server whose memory is full still returns a refusal
        end
        return {verdict, tonumber(token), other[1], other[2], now - other[3], free - now, 0, '', ahead, nonce == 'shared' and open(KEYS[1], nonce, row[7]).live(now) or 0}
    end
elseif ARGV[8] ~= '' then -- the waiter that a released lock is reserved for has already left the queue
    queue(KEYS[1]).quit(ARGV[8]) -- quit comes first, so that an error grants nothing; if more callers of this process wait, their next request appends the process again
end
if nonce == 'shared' then
    local list = open(KEYS[1], nonce, row[7])
    list.drop_expired(math.huge)
    list.save()
end
if row[6] then
    redis.call('HDEL', KEYS[1], 'writer_until', 'writers')
end
local acquired = now
if same then
    acquired = tonumber(redis.call('HMGET', KEYS[1], 'acquired_at')[1])
else
    token = math.max(token + 1, now)
end
local expires = now + ARGV[4]
free = math.max(expires + ARGV[6], acquired + ARGV[5])
-- string.format writes all digits, while Lua would write large numbers with an exponent. Most of the numbers below
-- equal now or expires, so usually only these two are formatted.
local present, ending = string.format('%.0f', now), string.format('%.0f', expires)
redis.call('HSET', KEYS[1], 'nonce', ARGV[1], 'token', token == now and present or string.format('%.0f', token), 'holder', ARGV[2], 'note', ARGV[3],
    'acquired_at', acquired == now and present or string.format('%.0f', acquired), 'expires_at', ending, 'held_until', free == expires and ending or string.format('%.0f', free), 'clock', present)
if row[5] then -- the key of a lock with a tick does not expire
    return {tonumber(token), row[5]}
end
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return tonumber(token)
