-- This file is prepended to the scripts that use it. It keeps the sorted set of the processes that wait for a lock. The
-- set is ordered by the time at which each wait began, by the waiter's clock, so the order is the same on all nodes.

-- enlist adds a waiter to the set, and returns 1 if the waiter is in the set. Five minutes after the last request of a
-- waiter, the set is deleted. A waiter sends a request every 20 seconds at the latest, to one node after the other. The
-- set has at most 10,000 waiters. pcall ignores an error, so that a node whose memory is full still returns a refusal.
local function enlist(waiters, id, since)
    if id == '' or #redis.pcall('ZRANGE', waiters, 10000, 10000) > 0 then
        return 0
    end
    local added = redis.pcall('ZADD', waiters, since, id)
    redis.pcall('PEXPIRE', waiters, 300000)
    return type(added) == 'number' and 1 or 0
end

-- call notifies the waiter that has waited longest among the waiters that are subscribed. It removes this waiter from
-- the set, and also the waiters before it, which are not subscribed. It also tells the waiter behind it, which sends a
-- request if it is not notified soon: the first waiter may be suspended, or its host may have vanished. It returns false
-- if no waiter is subscribed. An account without the right to publish notifies no waiter.
local function call(waiters, channel, key)
    for _ = 1, 100 do -- a release skips at most 100 dead waiters; the next release removes the others
        local id = redis.pcall('ZRANGE', waiters, 0, 0)[1]
        if not id or redis.pcall('ZREM', waiters, id) ~= 1 then
            return false
        end
        if redis.pcall('PUBLISH', channel .. id, key) ~= 0 then
            local second = redis.pcall('ZRANGE', waiters, 0, 0)[1]
            if second then
                redis.pcall('PUBLISH', channel .. second, 'next ' .. key)
            end
            return true
        end
    end
    return false
end
