#!lua flags=allow-oom
-- Parameters: KEYS the locks, all of one slot; ARGV[1] the retention in milliseconds, then for each lock: nonce, token; TTL, minimum hold and hand-over delay in microseconds.
-- Result: for each lock 1 if its lease or share was renewed, 0 if it is lost.
-- Promise: never revives an expired lease or share, and creates nothing.
local number = function(x) return string.format('%.0f', x) end
local time = redis.call('TIME')
local outcomes = {}
local shared = {} -- for each shared lock its list of shares, because one call may renew several shares of one lock
for i, key in ipairs(KEYS) do
    local list = shared[key]
    local row = list and {} or redis.call('HMGET', key, 'nonce', 'token', 'acquired_at', 'expires_at', 'clock', 'done', 'readers')
    local now = math.max(time[1] * 1000000 + time[2], tonumber(row[5]) or 0)
    local at = 1 + 5 * (i - 1)
    if row[1] == 'shared' then
        list = open(key, row[1], row[7])
        list.token, list.now, list.done = row[2], now, row[6]
        shared[key] = list
    end
    if list then
        local one = list.token == ARGV[at + 2] and list.find(ARGV[at + 1])
        if one and one.value - list.now > 0 then
            list.drop(ARGV[at + 1])
            list.add(ARGV[at + 1], list.now + ARGV[at + 3])
            list.renewed = true
            outcomes[i] = 1
        else
            outcomes[i] = 0
        end
    elseif row[1] == ARGV[at + 1] and row[2] == ARGV[at + 2] and tonumber(row[4]) > now then
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
for key, list in pairs(shared) do
    if list.renewed then
        list.drop_expired(list.now)
        local free = list.last_expiry()
        list.save('expires_at', free, 'held_until', free, 'clock', number(list.now))
        if not list.done then
            redis.call('PEXPIRE', key, number(math.ceil((free - list.now) / 1000) + ARGV[1]))
        end
    end
end
return outcomes
