#!lua flags=allow-oom
-- Parameters: KEYS the locks, all of one slot; ARGV[1] the retention in milliseconds, then for each lock: nonce, token; TTL, minimum hold and hand-over delay in microseconds.
-- Result: for each lock 1 if its lease was renewed, 0 if its lease is lost.
-- Promise: never revives an expired lease, and creates nothing.
local number = function(x) return string.format('%.0f', x) end
local time = redis.call('TIME')
local outcomes = {}
for i, key in ipairs(KEYS) do
    local row = redis.call('HMGET', key, 'nonce', 'token', 'acquired_at', 'expires_at', 'clock', 'done')
    local now = math.max(time[1] * 1000000 + time[2], tonumber(row[5]) or 0)
    local at = 1 + 5 * (i - 1)
    if row[1] == ARGV[at + 1] and row[2] == ARGV[at + 2] and tonumber(row[4]) > now then
        local expires = now + tonumber(ARGV[at + 3])
        local free = math.max(expires + tonumber(ARGV[at + 5]), tonumber(row[3]) + tonumber(ARGV[at + 4]))
        redis.call('HSET', key, 'expires_at', number(expires), 'held_until', number(free), 'clock', number(now))
        if not row[6] then -- the key of a lock with a tick does not expire
            redis.call('PEXPIRE', key, number(math.ceil((free - now) / 1000) + tonumber(ARGV[1])))
        end
        outcomes[i] = 1
    else
        outcomes[i] = 0
    end
end
return outcomes
