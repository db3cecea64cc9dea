-- Parameters: KEYS[1] the lock; KEYS[2] the record of the server, absent while its slot is moving; ARGV[1] nonce, [2] holder, [3] note; [4] TTL in microseconds; [5] the retention in milliseconds; [6] the id of the waiter that sends the request, or an empty text; [7] the text with which the names of waiters' channels begin; [8] 1 if subscribers may be connected to other servers.
-- Result: the token if a share is granted, and with it the last tick if the lock has one. Otherwise the same list as in acquire.lua.
-- Promise: writes only if it grants a share or adds a waiter to the queue. The first share raises the token, and the shares that join it get the same token. A request with the nonce of a share gets that share again. While a writer waits, no share joins, except that of a waiter for which a released lock is reserved. A grant to a waiter notifies the first waiter of the queue, unless a writer waits.
local row = redis.call('HMGET', KEYS[1], 'nonce', 'token', 'held_until', 'clock', 'done', 'writer_until', 'readers')
local nonce, free, clock = row[1], row[3] or 0, row[4] or 0
-- If the lock was deleted, its last token was not larger than the record's top.
local token = row[2] or KEYS[2] and redis.call('HMGET', KEYS[2], 'top')[1] or 0
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], clock)

local held = free - now > 0
local shared = held and nonce == 'shared'
local list = nonce == 'shared' and open(KEYS[1], nonce, row[7]) -- the shares, which may have expired; false if there are none
local again = shared and list.find(ARGV[1]) -- a repeated request; its share may have expired, but no writer has held the lock since
local writer = (row[6] or 0) - now -- positive while a writer waits
if not again and (held and not shared or writer > 0) then
    local other = redis.call('HMGET', KEYS[1], 'holder', 'note', 'acquired_at', 'expires_at', 'reserved_for')
    local reserved = held and nonce == '' and other[5] or ''
    if ARGV[6] == '' or reserved ~= ARGV[6] then
        local verdict, left = 'leased', free - now
        if shared or not held then
            verdict, left = 'reserved', writer
        elseif reserved ~= '' then
            verdict = 'reserved'
        elseif nonce == '' then
            verdict = 'min hold'
        elseif other[4] - now <= 0 then
            verdict = 'handover'
        end
        local ahead = ARGV[6] ~= '' and queue(KEYS[1]).join(ARGV[6], now) or 0
        return {verdict, tonumber(token), other[1], other[2], now - other[3], left, 0, '', ahead, shared and list.live(now) or 0}
    end
elseif ARGV[6] ~= '' then -- the waiter that a released lock is reserved for has already left the queue
    queue(KEYS[1]).quit(ARGV[6]) -- quit comes first, so that an error grants nothing
end
local present, last = string.format('%.0f', now), string.format('%.0f', now + ARGV[4])
local acquired = present
if not shared then
    token = math.max(token + 1, now)
end
if again then
    acquired = redis.call('HMGET', KEYS[1], 'acquired_at')[1]
    list.drop(ARGV[1])
end
local write = function(...) -- the only share is written without the list, because most locks have one reader at a time
    redis.call('HSET', KEYS[1], 'readers', ARGV[1] .. ' ' .. ARGV[1] .. ' 1 ' .. last .. ' ' .. last, ...)
end
if list then
    list.drop_expired(shared and now or math.huge)
    list.add(ARGV[1], now + ARGV[4])
    last = list.last_expiry()
    write = function(...) list.save(...) end
end
write('nonce', 'shared', 'token', shared and token or token == now and present or string.format('%.0f', token), 'holder', ARGV[2], 'note', ARGV[3],
    'acquired_at', acquired, 'expires_at', last, 'held_until', last, 'clock', present)
if not row[5] then -- the key of a lock with a tick does not expire
    redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil((last - now) / 1000) + ARGV[5]))
end
if ARGV[6] ~= '' and writer <= 0 then -- the next waiter may be a reader too
    queue(KEYS[1]).notify(ARGV[7], now, ARGV[8] == '1')
end
if row[5] then
    return {tonumber(token), row[5]}
end
return tonumber(token)
