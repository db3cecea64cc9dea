-- In front of this text stands the id of the run of the server that it was written for, as run: no other executes it.
-- Parameters: KEYS[1] the lock, KEYS[2] the record of the node; ARGV nonce, empty to ask for nothing but the state of the node, holder, note; in microseconds TTL, minimum hold, hand-over delay; in milliseconds the retention; in microseconds the quarantine; the id of the waiter that asks, or an empty text; the number of the ballot; the token that the client proposes.
-- Result: verdict; the token that this lease, or that of whoever has the lock, was confirmed with here, or 0; the last token of the lock and the largest of the node; the server's clock; holder, note, microseconds since the grant and until it is free.
-- Promise: one request; a node that may have forgotten neither grants nor refuses; a lease that is granted has no token until it is confirmed, which is at once if confirm.lua would confirm the proposed one, and it is near the server's clock; a waiter that is refused takes its place in the queue of this node.
local number = function(x) return string.format('%.0f', x) end
local quarantine = tonumber(ARGV[8])

local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local node = redis.call('HMGET', KEYS[2], 'run_id', 'since', 'admitted', 'top', 'floor')
local top = tonumber(node[4]) or 0
if node[1] ~= run then
    -- What another run has left may lack its last writes: that was when this run began. Without a record it may have been at any time.
    local since = clock
    if node[1] then
        since = clock - tonumber(string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')) * 1000000
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
local nonce, token, confirmed = row[1] or '', tonumber(row[2]) or 0, tonumber(row[9]) or 0
local acquired, expires, free = tonumber(row[5]) or 0, tonumber(row[6]) or 0, tonumber(row[7]) or 0
local now = math.max(clock, tonumber(row[8]) or 0)
local ttl, minimum, delay, retention = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

if free > now and nonce ~= ARGV[1] then
    local verdict = 'leased'
    if nonce == '' then
        verdict, confirmed = 'min hold', token
    elseif expires <= now then
        verdict = 'handover'
    end
    if ARGV[9] ~= '' then
        pcall(join, KEYS[1], ARGV[9], now) -- a node whose memory is full refuses all the same
    end
    return {verdict, confirmed, token, top, clock, row[3] or '', row[4] or '', now - acquired, free - now}
end

-- Of a lock that is not known any more, all that is known is that it had no larger token than any other.
local least = tonumber(row[10]) or top
local ballot = tonumber(ARGV[10])
if nonce == ARGV[1] then
    ballot = math.max(ballot, tonumber(row[11]) or 0) -- one that was overtaken on the way
end
if nonce ~= ARGV[1] or expires <= now then
    confirmed, acquired = 0, now
end
local prior = token -- an attempt that fails takes back the token that it proposed
local proposed = tonumber(ARGV[11])
if confirmed == 0 and proposed > math.max(token, least, tonumber(node[5]) or 0) and math.abs(proposed - clock) < quarantine / 4 then
    token, confirmed = proposed, proposed
    if token > top then
        redis.call('HSET', KEYS[2], 'top', number(token))
    end
end
expires = now + ttl
free = math.max(expires + delay, acquired + minimum)
redis.call('HSET', KEYS[1], 'nonce', ARGV[1], 'token', number(token), 'confirmed', number(confirmed), 'least', number(least), 'holder', ARGV[2], 'note', ARGV[3],
    'acquired_at', number(acquired), 'expires_at', number(expires), 'held_until', number(free), 'clock', number(now), 'ballot', number(ballot), 'prior', number(prior))
if ARGV[9] ~= '' then
    quit(KEYS[1], ARGV[9])
end
redis.call('PEXPIRE', KEYS[1], number(math.ceil((free - now) / 1000) + retention))
return {'granted', confirmed, math.max(token, least), top, clock, '', '', 0, 0}
