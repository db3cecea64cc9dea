-- In front of this text stands the id of the run of the server that it was written for, as run: no other executes it.
-- Parameters: KEYS[1] the record of the node; ARGV the largest token that the other nodes know of, and the quarantine in microseconds.
-- Result: 1 when the node may vote from now on, or might before; 0 when it must wait, or forgot in between.
-- Promise: whatever it confirms from now on is larger than all that it may have forgotten.
local node = redis.call('HMGET', KEYS[1], 'run_id', 'since', 'admitted', 'top')
if node[1] ~= run then
    return 0
end
if node[3] == '1' then
    return 1
end
local time = redis.call('TIME')
if tonumber(node[2]) + tonumber(ARGV[2]) > time[1] * 1000000 + time[2] then
    return 0
end
local floor = string.format('%.0f', math.max(tonumber(node[4]), tonumber(ARGV[1])))
redis.call('HSET', KEYS[1], 'admitted', '1', 'top', floor, 'floor', floor)
return 1
