-- Parameters: KEYS[1] the lock; ARGV[1] for how long nobody must have held it, in microseconds.
-- Result: 1 when it is forgotten, 0 when it stays.
-- Promise: a lock whose token is ahead of the server's clock stays, because the next token comes from that clock.
local row = redis.call('HMGET', KEYS[1], 'token', 'held_until', 'clock')
if not row[1] then
    return 0
end
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = math.max(clock, tonumber(row[3]) or 0)
if now - tonumber(row[2]) < tonumber(ARGV[1]) or tonumber(row[1]) >= clock then
    return 0
end
return redis.call('DEL', KEYS[1])
