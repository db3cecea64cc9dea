-- Go code prepends a line that sets the variable run to the server's run_id, which Redis changes at each start. After a
-- restart, the server does not know the digest of this script, so it never executes the script with an old run_id.
-- Parameters: KEYS[1] the lock, KEYS[2] the record of the node, KEYS[3] the waiters for the lock; ARGV the mode: vote,
-- confirm or fill; the nonce, or an empty text to query only the state of the node; the token; the number of the
-- request; holder, note; TTL, minimum hold and hand-over delay in microseconds; the retention in milliseconds; the
-- quarantine in microseconds; the id of the waiter that sends the request, or an empty text; when the wait began, by
-- the waiter's clock.
-- Result: a verdict; the token that this node has confirmed for this lease or for the current holder's lease, or 0; the
-- last token of the lock; the largest token of the node; the server's clock; the holder and note of the current grant,
-- microseconds since the grant, and microseconds until the lock is free; with a refusal also the number of waiters.
-- Promise: a node that may have lost leases neither grants nor refuses the lock. The tokens that a node confirms for a
-- lock rise strictly. A vote confirms the token only if it creates the lease and the token is near the server's
-- clock. The mode confirm creates no lease. The mode fill restores a lease that a majority of other nodes has, unless
-- this node knows of its release or of a later holder. A refused waiter stays in the set of waiters for five minutes.
local mode, nonce, token, request, holder, note, ttl, min_hold, handover, retention, quarantine, waiter, waits_since = unpack(ARGV)
local number = function(x) return string.format('%.0f', x) end
quarantine = tonumber(quarantine)

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
if nonce == '' then
    return {'votes', 0, 0, top, clock, '', '', 0, 0}
end

local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'holder', 'note', 'acquired_at', 'expires_at', 'held_until', 'clock', 'confirmed', 'least', 'request', 'prior')
local same, last = row[1] == nonce, tonumber(row[2]) or 0
local now = math.max(clock, tonumber(row[8]) or 0)

if not same and row[7] and row[7] - now > 0 then
    local verdict, confirmed = 'leased', tonumber(row[9]) or 0
    if row[1] == '' then
        verdict, confirmed = 'min hold', last
    elseif row[6] - now <= 0 then
        verdict = 'handover'
    end
    local waiters = enlist(KEYS[3], waiter, waits_since)
    return {verdict, confirmed, last, top, clock, row[3] or '', row[4] or '', now - row[5], row[7] - now, waiters}
end

local wanted = tonumber(token)
local held = same and row[6] - now > 0
if mode == 'confirm' and not held or mode == 'fill' and (last > wanted or not same and last == wanted) then
    return {'lost', 0, last, top, clock, '', '', 0, 0}
end

-- If the lock was deleted, its last token was not larger than the node's largest token.
local least = row[10] or node[4] or '0'
local largest = math.max(last, tonumber(least))
local digits, confirmed, acquired, prior = row[2] or '0', '0', now, row[2] or '0'
if held then
    confirmed, acquired, prior = row[9], tonumber(row[5]), row[12] or prior
end
if same then
    request = number(math.max(request, row[11] or 0)) -- this request may arrive after a later request of the same acquisition
end
local rises = wanted > math.max(largest, tonumber(node[5]) or 0)
local near = math.abs(wanted - clock) < quarantine / 4
if mode == 'fill' or rises and (mode == 'confirm' or not held and near) then
    digits, confirmed, largest = token, token, math.max(largest, wanted)
    if wanted > top then
        redis.call('HSET', KEYS[2], 'top', token)
    end
end
local expires = now + ttl
local free = math.max(expires + handover, acquired + min_hold)
local present, ending = number(now), number(expires)
redis.call('HSET', KEYS[1], 'nonce', nonce, 'token', digits, 'confirmed', confirmed, 'least', least, 'holder', holder, 'note', note,
    'acquired_at', acquired == now and present or number(acquired), 'expires_at', ending, 'held_until', free == expires and ending or number(free), 'clock', present,
    'request', request, 'prior', prior) -- the undo of a failed attempt restores the prior token
if waiter ~= '' then
    redis.pcall('ZREM', KEYS[3], waiter)
end
redis.call('PEXPIRE', KEYS[1], number(math.ceil((free - now) / 1000) + retention))
return {'granted', tonumber(confirmed), largest, top, clock, '', '', 0, 0}
