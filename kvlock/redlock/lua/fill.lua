-- Parameters: KEYS[1] the lock, KEYS[2] the record of the node; ARGV nonce, token, holder, note; TTL, minimum hold and hand-over delay in microseconds; the retention in milliseconds; a number that is larger than the number of any earlier ballot.
-- Result: 1 if the node has the lease now; 0 if another lease or a newer token prevents that.
-- Promise: writes only if the lock is free or has this lease, and if there was no later holder. Does not restore a released lease.
local number = function(x) return string.format('%.0f', x) end
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'acquired_at', 'expires_at', 'held_until', 'clock', 'confirmed', 'least')
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(row[6]) or 0)
local nonce, token, mine = row[1] or '', tonumber(row[2]) or 0, tonumber(ARGV[2])
if nonce ~= ARGV[1] then
    if (tonumber(row[5]) or 0) > now or token >= mine then
        return 0
    end
elseif token > mine then
    return 0
end
local top = tonumber(redis.call('HGET', KEYS[2], 'top')) or 0
local expires = now + tonumber(ARGV[5])
local free = math.max(expires + tonumber(ARGV[7]), now + tonumber(ARGV[6]))
redis.call('HSET', KEYS[1], 'nonce', ARGV[1], 'token', ARGV[2], 'confirmed', ARGV[2], 'least', row[8] or number(top), 'holder', ARGV[3], 'note', ARGV[4],
    'acquired_at', number(now), 'expires_at', number(expires), 'held_until', number(free), 'clock', number(now), 'ballot', ARGV[9])
redis.call('PEXPIRE', KEYS[1], number(math.ceil((free - now) / 1000) + tonumber(ARGV[8])))
if mine > top then
    redis.call('HSET', KEYS[2], 'top', ARGV[2])
end
return 1
