#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock and its channel, KEYS[2] the record of the node; ARGV the token that the operator saw; the retention in milliseconds.
-- Result: 1 if this node has ended the lease with that token, or a lease without a confirmed token; 0 if the node has another lease, or none.
-- Promise: raises the token above all tokens that this node has confirmed, so that the old holder is fenced. Sets the lock's clock to the server's clock, even if the server's clock was set back.
local number = function(x) return string.format('%.0f', x) end
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'expires_at', 'confirmed')
if not row[2] or tonumber(row[2]) > tonumber(ARGV[1]) or row[1] ~= '' and row[4] ~= ARGV[1] and row[4] ~= '0' then
    return 0
end
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local top = tonumber(redis.call('HGET', KEYS[2], 'top')) or 0
local token = number(math.max(clock, top + 1, tonumber(row[2]) + 1, tonumber(ARGV[1]) + 1))
redis.call('HSET', KEYS[1], 'nonce', '', 'confirmed', '0', 'token', token,
    'expires_at', number(math.min(tonumber(row[3]), clock)), 'held_until', number(clock), 'clock', number(clock))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('HSET', KEYS[2], 'top', token)
redis.pcall('PUBLISH', KEYS[1], '')
return 1
