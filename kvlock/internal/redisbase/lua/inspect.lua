-- Parameters: KEYS[1] the lock.
-- Result: state, token, holder, note, three durations in microseconds (since the grant, until the lease ends, and until the lock is free), the last tick, how many waiters are in the queue, and how many shares there are. An empty list if there is no such lock.
-- Promise: changes nothing.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'holder', 'note', 'acquired_at', 'expires_at', 'held_until', 'clock', 'done', 'queue', 'readers')
if not row[2] then
    return {}
end
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(row[8]) or 0)
local expires, free = tonumber(row[6]), tonumber(row[7])
local state = 'free'
if row[1] ~= '' and expires > now then
    state = 'held'
elseif free > now then
    state = 'closed'
elseif row[1] ~= '' then
    state = 'expired'
end
return {state, tonumber(row[2]), row[3] or '', row[4] or '', now - tonumber(row[5]), expires - now, math.max(0, free - now), row[9] or '', linked_list(KEYS[1], 'queue', 'w:', row[10]).count, open(KEYS[1], row[1], row[11]).live(now)}
