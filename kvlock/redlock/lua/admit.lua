-- Go code prepends a line that sets the variable run to the server's run_id, which Redis changes at each start. After a
-- restart, the server does not know the digest of this script, so it never executes the script with an old run_id.
-- Parameters: KEYS[1] the record of the node; ARGV the largest token that the other nodes know; the quarantine in
-- microseconds. Result: 1 if the node may vote now; 0 if its quarantine is not over, or if it has lost its data
-- meanwhile. Promise: every token that the node confirms from now on is larger than all tokens that it may have lost.
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
