-- KEYS[1]: a key as a lock's. Result: those of the commands that scripts run for a lock which this user may not.
-- Promise: runs none of them.
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
