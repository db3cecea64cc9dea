#!lua flags=allow-oom
-- Parameters: KEYS[1] the lock, which is also the name of its channel; KEYS[2] the record of the server, absent while its slot is moving; ARGV[1] nonce; [2] token, or 0 for any token; [3] minimum hold in microseconds; [4] retention in milliseconds; [5] the text with which the names of waiters' channels begin; [6] 1 if subscribers may be connected to other servers; [7] the tick to record, or an empty text.
-- Result: 1 if this request or an earlier one has released the lock; 0 if the grant is unknown.
-- Promise: a release with token 0 also ends the reservation of a writer with this nonce, which keeps out readers. The release of a share ends only this share, and the release of the last share frees the lock. May be repeated for five minutes, after which a lock without a tick is deleted. Records the tick, and then the lock's key does not expire. The record's token is at least as large as the lock's token. If the minimum hold is over, notifies the waiter that has waited longest, and reserves the lock for that waiter for 50 ms. If no waiter was notified, the script notifies all subscribers of the lock's channel.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'acquired_at', 'expires_at', 'clock', 'reserved_for', 'done', 'readers', 'queue')
local function record()
    redis.call('HSET', KEYS[1], 'done', ARGV[7])
    redis.call('PEXPIRE', KEYS[1], '3153600000000') -- expires in a hundred years: PERSIST would need one more right
end
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], row[5] or 0)
local present = string.format('%.0f', now)
if ARGV[2] == '0' then -- a writer that has given up keeps out no reader any longer
    local writers = redis.call('HMGET', KEYS[1], 'writers')[1] or ''
    local first, last = string.find(writers, ARGV[1] .. ',', 1, true)
    if writers == ARGV[1] .. ',' then
        redis.call('HDEL', KEYS[1], 'writer_until', 'writers')
    elseif first then
        redis.call('HSET', KEYS[1], 'writers', string.sub(writers, 1, first - 1) .. string.sub(writers, last + 1))
    end
end
local mine = row[1] == 'shared' and (row[2] == ARGV[2] or ARGV[2] == '0')
if mine and string.find(row[8], ARGV[1] .. ' ' .. ARGV[1] .. ' 1 ', 1, true) then
    row[1] = ARGV[1] -- the only share is released like an exclusive lease
elseif mine then
    local list = open(KEYS[1], row[1], row[8])
    if not list.drop(ARGV[1]) then
        return ARGV[2] == '0' and 0 or 1
    end
    list.drop_expired(now)
    if list.count > 0 then
        list.save('expires_at', list.last_expiry(), 'held_until', list.last_expiry(), 'clock', present)
        return 1
    end
    list.save()
    row[1] = ARGV[1] -- from here on, the last share is released like an exclusive lease
end
if row[1] == '' and row[2] == ARGV[2] then
    if ARGV[7] ~= '' then
        record() -- repeats the write, because WAIT confirms only writes of the current connection, and the first release may have used another connection
    end
    return 1
end
if row[1] ~= ARGV[1] or (ARGV[2] ~= '0' and row[2] ~= ARGV[2]) then
    return 0
end
local free = math.max(now, row[3] + ARGV[3])
local reserved = row[9] and free == now and queue(KEYS[1], row[9]).call(ARGV[5], now, ARGV[6] == '1') or ''
redis.call('HSET', KEYS[1], 'nonce', '', 'expires_at', row[4] - now < 0 and row[4] or present,
    'held_until', free == now and reserved == '' and present or string.format('%.0f', reserved == '' and free or now + 50000), 'clock', present)
if reserved ~= (row[6] or '') then
    redis.call('HSET', KEYS[1], 'reserved_for', reserved)
end
local memory = ARGV[4]
if KEYS[2] then
    memory = '300000'
    if row[2] - (redis.call('HMGET', KEYS[2], 'top')[1] or 0) > 0 then
        redis.call('HSET', KEYS[2], 'top', row[2])
    end
end
if ARGV[7] ~= '' then
    record()
elseif not row[7] then
    redis.call('PEXPIRE', KEYS[1], free == now and memory or string.format('%.0f', math.ceil((free - now) / 1000) + memory))
end
if reserved == '' then
    redis.pcall('PUBLISH', KEYS[1], '') -- pcall ignores an error, so that an account that may not publish can still release
end
return 1
