-- This file is prepended to the scripts that use it. It keeps the sorted set of the processes that wait for a lock. The
-- set is ordered by the time at which each wait began, by the waiter's clock, so the order is the same on all nodes.

-- enlist adds a waiter to the set for five minutes, and returns the number of waiters. The set has at most 10,000
-- waiters. pcall ignores an error, so that a node whose memory is full still returns a refusal.
local function enlist(waiters, id, since)
    if id == '' then
        return 0
    end
    local count = tonumber(redis.pcall('ZCARD', waiters)) or 0
    if count < 10000 then
        redis.pcall('ZADD', waiters, since, id)
    end
    redis.pcall('PEXPIRE', waiters, 300000)
    return count
end

-- call notifies the waiter that has waited longest among the waiters that are subscribed. It removes this waiter from
-- the set, and also the waiters before it, which are not subscribed. It returns false if no waiter is subscribed. An
-- account without the right to publish notifies no waiter.
local function call(waiters, channel, key)
    for _ = 1, 100 do -- a release skips at most 100 dead waiters; the next release removes the others
        local id = redis.pcall('ZRANGE', waiters, 0, 0)[1]
        if not id or redis.pcall('ZREM', waiters, id) ~= 1 then
            return false
        end
        if redis.pcall('PUBLISH', channel .. id, key) ~= 0 then
            return true
        end
    end
    return false
end
