-- Go code prepends a line that sets the variable run to the server's run_id, which Redis changes at each start. After a
-- restart, the server does not know the digest of this script, so it never executes the script with an old run_id.
-- Parameters: KEYS[1] the lock, KEYS[2] the record of the node, KEYS[3] the waiters for the lock; ARGV nonce, or an
-- empty text to query only the state of the node; holder, note; TTL, minimum hold and hand-over delay in microseconds;
-- the retention in milliseconds; the quarantine in microseconds; the id of the waiter that sends the request, or an
-- empty text; the number of the ballot; the token that the client proposes; when the wait began, by the waiter's clock.
-- Result: a verdict; the token that this node has confirmed for this lease or for the current holder's lease, or 0; the
-- last token of the lock; the largest token of the node; the server's clock; the holder and note of the current grant,
-- microseconds since the grant, and microseconds until the lock is free. Promise: a node that may have lost leases
-- neither grants nor refuses the lock. A granted lease has no token until the node confirms one. This script confirms
-- the proposed token at once if confirm.lua would confirm it and the token is near the server's clock. A refused waiter
-- stays in the set of waiters for a minute. The order of the waiters is the same on all nodes.
local number = function(x) return string.format('%.0f', x) end
local quarantine = tonumber(ARGV[8])

local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local node = redis.call('HMGET', KEYS[2], 'run_id', 'since', 'admitted', 'top', 'floor')
local top = tonumber(node[4]) or 0
if node[1] ~= run then
    -- The record comes from an earlier run of the server, and the last writes before the restart may be lost. The
    -- quarantine begins at the start of this run. If there is no record, data may have been lost at any time, so the
    -- quarantine begins now.
    local since = clock
    if node[1] then
        -- INFO computes the uptime from times in whole seconds, so the reported uptime may be up to one second too
        -- long.
        since = math.min(clock, clock - (tonumber(string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')) - 1) * 1000000)
    end
    redis.call('HSET', KEYS[2], 'run_id', run, 'since', number(since), 'admitted', '0', 'top', number(top))
    node[2], node[3] = since, '0'
end
if node[3] ~= '1' then
    local left = tonumber(node[2]) + quarantine - clock
    if left > 0 then
        return {'closed', 0, 0, top, clock, '', '', 0, math.min(left, quarantine)}
    end
    return {left > -quarantine and 'ready' or 'overdue', 0, 0, top, clock, '', '', 0, 0}
end
if ARGV[1] == '' then
    return {'votes', 0, 0, top, clock, '', '', 0, 0}
end

local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'holder', 'note', 'acquired_at', 'expires_at', 'held_until', 'clock', 'confirmed', 'least', 'ballot')
local same, token = row[1] == ARGV[1], tonumber(row[2]) or 0
local now = math.max(clock, tonumber(row[8]) or 0)

if not same and row[7] and row[7] - now > 0 then
    local verdict, confirmed = 'leased', tonumber(row[9]) or 0
    if row[1] == '' then
        verdict, confirmed = 'min hold', token
    elseif row[6] - now <= 0 then
        verdict = 'handover'
    end
    if ARGV[9] ~= '' and #redis.pcall('ZRANGE', KEYS[3], 10000, 10000) == 0 then -- the set has at most 10,000 waiters
        redis.pcall('ZADD', KEYS[3], ARGV[12], ARGV[9]) -- pcall ignores an error, so that a node whose memory is full still returns a refusal
        redis.pcall('PEXPIRE', KEYS[3], 60000)
    end
    return {verdict, confirmed, token, top, clock, row[3] or '', row[4] or '', now - row[5], row[7] - now}
end

-- If the lock was deleted, its last token was not larger than the node's largest token.
local least = row[10] or node[4] or '0'
local largest = math.max(token, tonumber(least))
local digits, confirmed, acquired, ballot = row[2] or '0', '0', now, ARGV[10]
if same then
    ballot = number(math.max(ballot, row[11] or 0)) -- this request may arrive after the request of a later ballot
    if row[6] - now > 0 then
        confirmed, acquired = row[9], tonumber(row[5])
    end
end
local proposed = tonumber(ARGV[11])
if confirmed == '0' and proposed > math.max(largest, tonumber(node[5]) or 0) and math.abs(proposed - clock) < quarantine / 4 then
    digits, confirmed, largest = ARGV[11], ARGV[11], proposed
    if proposed > top then
        redis.call('HSET', KEYS[2], 'top', digits)
    end
end
local expires = now + ARGV[4]
local free = math.max(expires + ARGV[6], acquired + ARGV[5])
local present, ending = number(now), number(expires)
redis.call('HSET', KEYS[1], 'nonce', ARGV[1], 'token', digits, 'confirmed', confirmed, 'least', least, 'holder', ARGV[2], 'note', ARGV[3],
    'acquired_at', acquired == now and present or number(acquired), 'expires_at', ending, 'held_until', free == expires and ending or number(free), 'clock', present,
    'ballot', ballot, 'prior', row[2] or '0') -- the undo of a failed attempt restores the prior token
if ARGV[9] ~= '' then
    redis.pcall('ZREM', KEYS[3], ARGV[9])
end
redis.call('PEXPIRE', KEYS[1], number(math.ceil((free - now) / 1000) + ARGV[7]))
return {'granted', tonumber(confirmed), largest, top, clock, '', '', 0, 0}
