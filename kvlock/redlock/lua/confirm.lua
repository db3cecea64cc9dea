-- Parameters: KEYS[1] the lock, KEYS[2] the record of the node; ARGV nonce, token.
-- Result: 1 if the lease has the token at this node; 0 if there is no such lease, or if the token is not larger than the last token of the lock.
-- Promise: the tokens that one node confirms rise strictly, so two grants with a common node never have the same token.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'expires_at', 'clock', 'confirmed', 'least')
if row[1] ~= ARGV[1] then
    return 0
end
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(row[4]))
if tonumber(row[3]) <= now then
    return 0
end
if row[5] == ARGV[2] then
    return 1
end
local token = tonumber(ARGV[2])
local node = redis.call('HMGET', KEYS[2], 'top', 'floor')
if token <= math.max(tonumber(row[2]), tonumber(row[6]), tonumber(node[2]) or 0) then
    return 0
end
redis.call('HSET', KEYS[1], 'token', ARGV[2], 'confirmed', ARGV[2])
if token > (tonumber(node[1]) or 0) then
    redis.call('HSET', KEYS[2], 'top', ARGV[2])
end
return 1
