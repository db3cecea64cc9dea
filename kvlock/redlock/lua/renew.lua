#!lua flags=allow-oom
-- Go code prepends a line that sets the variable run to the server's run_id, which Redis changes at each start. After a
-- restart, the server does not know the digest of this script, so it never executes the script with an old run_id.
-- Parameters: KEYS[1] the record of the node, then the locks; ARGV[1] the retention in milliseconds, then for each
-- lock: nonce, token; TTL, minimum hold and hand-over delay in microseconds. Result: for each lock its holder and
-- note if its lease was renewed, 0 if the node does not have the lease. An empty list if the node may have lost leases. Promise: never renews
-- an expired lease, or a lease that this node never confirmed. Creates nothing.
local node = redis.call('HMGET', KEYS[1], 'run_id', 'admitted')
if node[1] ~= run or node[2] ~= '1' then
    return {}
end
local number = function(x) return string.format('%.0f', x) end
local time = redis.call('TIME')
local outcomes = {}
for i = 2, #KEYS do
    local key = KEYS[i]
    local row = redis.call('HMGET', key, 'nonce', 'confirmed', 'acquired_at', 'expires_at', 'clock', 'holder', 'note')
    local now = math.max(time[1] * 1000000 + time[2], tonumber(row[5]) or 0)
    local at = 1 + 5 * (i - 2)
    if row[1] == ARGV[at + 1] and row[2] == ARGV[at + 2] and tonumber(row[4]) > now then
        local expires = now + tonumber(ARGV[at + 3])
        local free = math.max(expires + tonumber(ARGV[at + 5]), tonumber(row[3]) + tonumber(ARGV[at + 4]))
        redis.call('HSET', key, 'expires_at', number(expires), 'held_until', number(free), 'clock', number(now))
        redis.call('PEXPIRE', key, number(math.ceil((free - now) / 1000) + tonumber(ARGV[1])))
        outcomes[i - 1] = {row[6], row[7]}
    else
        outcomes[i - 1] = 0
    end
end
return outcomes
