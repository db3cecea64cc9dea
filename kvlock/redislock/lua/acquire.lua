-- Parameters: KEYS[1] the lock; ARGV nonce, holder, note; in microseconds TTL, minimum hold, hand-over delay; in milliseconds the retention.
-- Result: verdict, token, and of whoever has the lock: holder, note, microseconds since the grant and until it is free.
-- Promise: one request; writes nothing unless it grants; the nonce of the present grant gets that grant again.
local number = function(x) return string.format('%.0f', x) end
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'holder', 'note', 'acquired_at', 'expires_at', 'held_until', 'clock')
local nonce, token = row[1] or '', tonumber(row[2]) or 0
local acquired, expires, free = tonumber(row[5]) or 0, tonumber(row[6]) or 0, tonumber(row[7]) or 0
local time = redis.call('TIME')
-- The clock of a lock never goes back: what one request has seen, the next sees no earlier.
local now = math.max(time[1] * 1000000 + time[2], tonumber(row[8]) or 0)
local ttl, minimum, delay, retention = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local same = nonce == ARGV[1]
if free > now and not same then
    local verdict = 'leased'
    if nonce == '' then
        verdict = 'min hold'
    elseif expires <= now then
        verdict = 'handover'
    end
    return {verdict, token, row[3] or '', row[4] or '', now - acquired, free - now}
end

if not same then
    token, acquired = math.max(token + 1, now), now
end
expires = now + ttl
free = math.max(expires + delay, acquired + minimum)
redis.call('HSET', KEYS[1], 'nonce', ARGV[1], 'token', number(token), 'holder', ARGV[2], 'note', ARGV[3],
    'acquired_at', number(acquired), 'expires_at', number(expires), 'held_until', number(free), 'clock', number(now))
redis.call('PEXPIRE', KEYS[1], number(math.ceil((free - now) / 1000) + retention))
return {'granted', token, '', '', 0, 0}
