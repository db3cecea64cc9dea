-- KEYS[1]: a key that has the form of a lock's key. Result: the commands in the lock scripts that this user may not
-- run. Promise: runs none of these commands.
local missing = {}
local function may(name, ...)
  if not redis.acl_check_cmd(name, ...) then missing[#missing + 1] = name end
end
may('hmget', KEYS[1], 'nonce')
may('hset', KEYS[1], 'nonce', '')
may('del', KEYS[1])
may('pexpire', KEYS[1], '1')
may('time')
may('publish', KEYS[1], '')
return missing
