-- Parameters: KEYS[1] the lock; ARGV nonce and token of the grant; the nonce of the pause; the duration of the pause in microseconds.
-- Result: 1 if the pause has replaced the grant; 0 if the grant is no longer held.
-- Promise: turns only this grant into a pause, and never an expired one. The server remembers the lock for as long as the pause lasts. Uses only commands that the scripts for leases use too, so it needs no additional rights.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'expires_at', 'clock')
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(row[4]) or 0)
if row[2] ~= ARGV[2] or row[1] ~= ARGV[3] and (row[1] ~= ARGV[1] or tonumber(row[3]) <= now) then
    return 0
end
local never = string.format('%.0f', now + ARGV[4])
redis.call('HSET', KEYS[1], 'nonce', ARGV[3], 'expires_at', never, 'held_until', never, 'clock', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ARGV[4] / 1000))
return 1
