-- Parameters: KEYS[1] the lock; ARGV of the old grant: [1] nonce, [2] token, [3] minimum hold in microseconds; ARGV of the new grant: [4] nonce, [5] holder, [6] note; [7] TTL, [8] minimum hold and [9] hand-over delay in microseconds; [10] how long the server remembers the lock, in milliseconds; [11] the id of the waiter that gets the lock, or an empty text.
-- Result: the token if the lock is handed over, and with it the last tick if the lock has one; 0 if the old grant is no longer held. Otherwise a verdict, the token, holder, note, microseconds since the grant, and microseconds until a hand-over is allowed.
-- Promise: either ends the old grant and makes the new grant, with a larger token, or writes nothing. A request with the nonce of the current grant gets that grant again. Sends no notification.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'acquired_at', 'expires_at', 'clock', 'done')
local token, acquired = row[2] or 0, tonumber(row[3] or 0)
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], row[5] or 0)

if row[1] ~= ARGV[4] then
    if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] or row[4] - now <= 0 then
        return 0
    end
    local free = acquired + ARGV[3]
    if free - now > 0 then
        local who = redis.call('HMGET', KEYS[1], 'holder', 'note')
        return {'min hold', tonumber(token), who[1], who[2], now - acquired, free - now}
    end
    token, acquired = math.max(token + 1, now), now
end
if ARGV[11] ~= '' then -- the process leaves the queue, so that other processes are served before its remaining callers
    queue(KEYS[1]).quit(ARGV[11])
end
local expires = now + ARGV[7]
local free = math.max(expires + ARGV[9], acquired + ARGV[8])
local number = function(x) return string.format('%.0f', x) end
redis.call('HSET', KEYS[1], 'nonce', ARGV[4], 'token', number(token), 'holder', ARGV[5], 'note', ARGV[6],
    'acquired_at', number(acquired), 'expires_at', number(expires), 'held_until', number(free), 'clock', number(now))
if row[6] then -- the key of a lock with a tick does not expire
    return {tonumber(token), row[6]}
end
redis.call('PEXPIRE', KEYS[1], ARGV[10])
return tonumber(token)
