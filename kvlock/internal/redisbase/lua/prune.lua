-- Parameters: KEYS[1] the lock; KEYS[2] the record of the server, absent while its slot is moving; ARGV[1] how long the lock must have been free, in microseconds.
-- Result: 1 if the lock was deleted, 0 if it stays.
-- Promise: the record's token is at least that of every deleted lock. Without a record, a lock whose token is ahead of the server's clock is not deleted.
local row = redis.call('HMGET', KEYS[1], 'token', 'held_until', 'clock')
if not row[1] then
    return 0
end
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = math.max(clock, tonumber(row[3]) or 0)
if now - tonumber(row[2]) < tonumber(ARGV[1]) or not KEYS[2] and tonumber(row[1]) >= clock then
    return 0
end
if KEYS[2] and tonumber(row[1]) > (tonumber(redis.call('HMGET', KEYS[2], 'top')[1]) or 0) then
    redis.call('HSET', KEYS[2], 'top', row[1])
end
return redis.call('DEL', KEYS[1])
