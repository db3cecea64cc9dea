#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock and its channel; ARGV the token that the operator saw; 1 if a live lease may be ended
-- too; the retention in milliseconds. Result: a verdict and the token. If a live lease was not ended, also its holder
-- and note, microseconds since the grant, microseconds until the lock is free, three fields that only other scripts
-- fill, and the number of shares. Promise: ends all shares. Raises the token, so that the old holder is fenced. Sets
-- the lock's clock to the server's clock, even if the server's clock was set back.
local number = function(x) return string.format('%.0f', x) end
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'holder', 'note', 'acquired_at', 'expires_at', 'held_until', 'clock', 'done', 'writer_until', 'readers')
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = math.max(clock, tonumber(row[8]) or 0)
if row[2] ~= ARGV[1] or (row[1] == '' and tonumber(row[7]) <= now) then
    return {'not held', 0, '', '', 0, 0}
end
local list = open(KEYS[1], row[1], row[11])
if row[1] ~= '' and tonumber(row[6]) > now and ARGV[2] ~= '1' then
    return {'leased', tonumber(row[2]), row[3], row[4], now - tonumber(row[5]), tonumber(row[7]) - now, 0, '', 0, list.live(now)}
end
list.drop_expired(math.huge)
list.save()
if row[10] then
    redis.call('HDEL', KEYS[1], 'writer_until', 'writers')
end
local token = math.max(tonumber(row[2]) + 1, now)
redis.call('HSET', KEYS[1], 'nonce', '', 'token', number(token),
    'expires_at', number(math.min(tonumber(row[6]), clock)), 'held_until', number(clock), 'clock', number(clock))
if not row[9] then -- the key of a lock with a tick does not expire
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
redis.pcall('PUBLISH', KEYS[1], '')
return {'released', token, '', '', 0, 0}
