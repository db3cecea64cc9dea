-- This file is prepended to the scripts that use it. It implements the queue of the processes that wait for a lock. The
-- queue is a linked list in the lock's hash, so each step takes constant time for any number of waiters. The field
-- "queue" holds the ids of the first and the last waiter, the count of waiters, and the number of the newest waiter.
-- The field "w:ID" describes the waiter with this id. It holds the ids of the waiters before and behind it, or '-' if
-- there is none. It also holds the waiter's number, and until when the waiter counts as alive, in microseconds. If there
-- are no waiters, these fields do not exist. The function queue returns the functions that a script may call. They are
-- defined inside queue, so that a script which needs no queue spends no time on them.
local function queue()
    local function waiter(key, id)
        local entry = redis.call('HMGET', key, 'w:' .. id)[1]
        if entry then
            return string.match(entry, '^(%S+) (%S+) (%d+) (%d+)$')
        end
    end

    local function put(key, id, before, behind, number, alive_until)
        redis.call('HSET', key, 'w:' .. id, before .. ' ' .. behind .. ' ' .. number .. ' ' .. alive_until)
    end

    -- ends returns the ids of the first and the last waiter, the count of waiters, and the number of the newest waiter.
    local function ends(key)
        local queue = redis.call('HMGET', key, 'queue')[1]
        if not queue then
            return '-', '-', 0, 0
        end
        local first, last, count, number = string.match(queue, '^(%S+) (%S+) (%d+) (%d+)$')
        return first, last, tonumber(count), tonumber(number)
    end

    local function set_ends(key, first, last, count, number)
        if count == 0 then
            redis.call('HDEL', key, 'queue')
        else
            redis.call('HSET', key, 'queue', first .. ' ' .. last .. ' ' .. count .. ' ' .. number)
        end
    end

    -- quit removes a waiter, and returns whether it was in the queue.
    local function quit(key, id)
        local before, behind = waiter(key, id)
        if not before then
            return false
        end
        redis.call('HDEL', key, 'w:' .. id) -- HDEL comes first: if the account has no right to HDEL, nothing has been changed yet
        local first, last, count, number = ends(key)
        if before == '-' then
            first = behind
        else
            local b, _, n, s = waiter(key, before)
            put(key, before, b, behind, n, s)
        end
        if behind == '-' then
            last = before
        else
            local _, b, n, s = waiter(key, behind)
            put(key, behind, before, b, n, s)
        end
        set_ends(key, first, last, count - 1, number)
        return true
    end

    -- A waiter sends a request every 20 seconds at the latest. It counts as dead 25 seconds after its last request.
    local patience = 25000000
    local function dead(alive_until, now) return now - alive_until >= 0 end

    -- join records that a waiter has sent a request, appends the waiter if it is not in the queue, and returns how many waiters are
    -- before it. Before appending, join removes dead waiters at the end, so that processes that crash one after the other
    -- do not fill the queue. If the queue has ten thousand waiters, join does not append a further waiter, which then has
    -- to poll.
    local function join(key, id, now)
        local alive_until = string.format('%.0f', now + patience)
        local before, behind, number = waiter(key, id)
        local first, last, count, given = ends(key)
        if before then
            put(key, id, before, behind, number, alive_until)
        else
            while count > 0 do
                local _, _, _, at = waiter(key, last)
                if not dead(at, now) then
                    break
                end
                quit(key, last)
                first, last, count, given = ends(key)
            end
            if count >= 10000 then
                return count
            end
            number = given + 1
            if count == 0 then
                first, number = id, 1
            else
                local b, _, n, s = waiter(key, last)
                put(key, last, b, id, n, s)
            end
            put(key, id, last, '-', number, alive_until)
            count = count + 1
            set_ends(key, first, id, count, number)
        end
        local _, _, least = waiter(key, first)
        return math.min(number - least, count - 1)
    end

    -- notify notifies the first waiter of the queue, and returns its id, or an empty text. It removes the waiters at the
    -- front that are dead or do not receive the notification. If the parameter anywhere is set (on a Cluster), every waiter
    -- that is not dead counts as notified, because it may be subscribed on another server.
    local function notify(key, channel, now, anywhere)
        local first, _, count = ends(key)
        while count > 0 do
            local _, _, _, alive_until = waiter(key, first)
            if not dead(alive_until, now) then
                local heard = redis.pcall('PUBLISH', channel .. first, key)
                if type(heard) ~= 'number' then
                    return '' -- the account may not publish, so waiters poll
                end
                if heard > 0 or anywhere then
                    return first
                end
            end
            quit(key, first)
            first, _, count = ends(key)
        end
        return ''
    end

    -- call notifies the first waiter, and removes it from the queue. If the waiter acquires the lock too late, its next
    -- request appends it to the queue again. call also tells the waiter behind it, which sends a request if it is not
    -- notified soon: the first waiter may be suspended, or its host may have vanished.
    local function call(key, channel, now, anywhere)
        local id = notify(key, channel, now, anywhere)
        if id ~= '' then
            local _, behind = waiter(key, id)
            quit(key, id)
            if behind ~= '-' then
                redis.pcall('PUBLISH', channel .. behind, 'next ' .. key)
            end
        end
        return id
    end

    return {join = join, quit = quit, notify = notify, call = call}
end

