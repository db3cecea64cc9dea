-- Part of the scripts that use it, in front of their text: notifies the process that has waited longest, of those that listen, and takes it and those that do not
-- listen out of the set of waiters. Returns whether there was one. If the account may not publish, those who wait poll.
local function call(waiters, channel, key)
    local id = redis.call('ZRANGE', waiters, 0, 0)[1]
    while id do
        redis.call('ZREM', waiters, id) -- first: an account without the right to it must not leave half of the change
        local heard = redis.pcall('PUBLISH', channel .. id, key)
        if heard ~= 0 then
            return true
        end
        id = redis.call('ZRANGE', waiters, 0, 0)[1]
    end
    return false
end
