-- This file is prepended to the scripts that use it. call notifies the waiter that has waited longest among the waiters
-- that are subscribed. It removes this waiter from the set of waiters, and also the waiters before it, which are not
-- subscribed. It returns false if no waiter is subscribed. An account without the right to publish notifies no waiter.
local function call(waiters, channel, key)
    for _ = 1, 100 do -- a release skips at most 100 dead waiters; the next release removes the others
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
