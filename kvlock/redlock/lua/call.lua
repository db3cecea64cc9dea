-- Part of the scripts that use it, in front of their text: notifies the process that has waited longest, of those that listen, and takes it and those that do not
-- listen out of the set of waiters. Returns whether there was one. Where the account lacks a right to do so, it notifies nobody.
local function call(waiters, channel, key)
    local id = redis.pcall('ZRANGE', waiters, 0, 0)[1]
    while id do
        if redis.pcall('ZREM', waiters, id) ~= 1 then
            return false
        end
        local heard = redis.pcall('PUBLISH', channel .. id, key)
        if heard ~= 0 then
            return true
        end
        id = redis.pcall('ZRANGE', waiters, 0, 0)[1]
    end
    return false
end
