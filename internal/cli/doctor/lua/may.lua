-- KEYS[1]: a key that has the form of a lock's key; ARGV[1]: redis or redlock. Result: the commands that a lock needs
-- and that this user may not run. Promise: runs none of these commands.
local missing = {}
local function may(name, ...)
  if not redis.acl_check_cmd(name, ...) then missing[#missing + 1] = name end
end
may('evalsha', '', '1', KEYS[1])
may('info', 'server')
may('scan', '0')
may('time')
may('hmget', KEYS[1], 'nonce')
may('hset', KEYS[1], 'nonce', '')
may('del', KEYS[1])
may('pexpire', KEYS[1], '1')
may('publish', KEYS[1], '')
may('subscribe', KEYS[1])
if ARGV[1] == 'redlock' then
  may('hget', KEYS[1], 'top')
  may('zadd', KEYS[1], '1', '')
  may('zcard', KEYS[1])
  may('zrange', KEYS[1], '0', '0')
  may('zrem', KEYS[1], '')
else
  may('hdel', KEYS[1], 'readers')
end
return missing
