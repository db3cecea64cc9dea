-- Part of the scripts that use it, in front of their text: notifies the process that has waited longest, of those that listen, and takes it and those that do not
-- listen out of the set of waiters. Returns whether there was one. Where the account lacks a right to do so, it notifies nobody.
local function call(waiters, channel, key)
    for _ = 1, 100 do -- of many who have died, those that are left are for the next release
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
