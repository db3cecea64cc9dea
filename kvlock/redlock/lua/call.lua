-- This file is prepended to the scripts that use it. call notifies the process that has waited longest, among those
-- that listen, and removes it and the waiters that do not listen from the set of waiters. It returns whether there was
-- one. Without the rights to do so, it notifies nobody.
local function call(waiters, channel, key)
    for _ = 1, 100 do -- further dead waiters are left for the next release
        local id = redis.pcall('ZRANGE', waiters, 0, 0)[1]
        if not id or redis.pcall('ZREM', waiters, id) ~= 1 then
            return false
        end
        local heard = redis.pcall('PUBLISH', channel .. id, key)
        if heard ~= 0 then
            return true
        end
    end
    return false
end
