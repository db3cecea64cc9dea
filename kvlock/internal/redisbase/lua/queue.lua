-- This file is prepended to the scripts that use it, behind list.lua. It implements the queue of the processes that wait
-- for a lock: a linked list in the fields "queue" and "w:ID", in the order of arrival. The value of a waiter is its
-- number, a colon, and until when the waiter counts as alive, in microseconds. A new waiter gets the number of the last
-- waiter plus 1.
local function queue(key, text)
    local list = linked_list(key, 'queue', 'w:', text or redis.call('HMGET', key, 'queue')[1])

    local function number(id) return tonumber(string.match(list.value(id), '^%d+')) end

    local function dead(id, now) return now - string.match(list.value(id), '%d+$') >= 0 end

    -- quit removes a waiter if it is in the queue.
    local function quit(id)
        list.drop(id)
        list.save()
    end

    -- join records that a waiter has sent a request, appends the waiter if it is not in the queue, and returns how many
    -- waiters are before it. Before appending, join removes dead waiters at the end, so that processes that crash one
    -- after the other do not fill the queue. If the queue has ten thousand waiters, join does not append a further waiter,
    -- which then has to poll.
    local function join(id, now)
        -- A waiter sends a request every 20 seconds at the latest. It counts as dead 25 seconds after its last request.
        local alive_until = string.format(':%.0f', now + 25000000)
        local one, ahead = list.find(id)
        if one then
            local given = number(id)
            ahead = math.min(given - number(list.first), list.count - 1)
            one.value, one.changed, list.changed = given .. alive_until, true, true
        else
            while list.count > 0 and dead(list.last, now) do
                list.drop(list.last)
            end
            ahead = list.count
            if ahead < 10000 then
                list.insert(list.last, id, (ahead > 0 and number(list.last) or 0) + 1 .. alive_until)
            end
        end
        list.save()
        return ahead
    end

    -- notify notifies the first waiter of the queue, and returns its id, or an empty text. It removes the waiters at the
    -- front that are dead or do not receive the notification. If the parameter anywhere is set (on a Cluster), every waiter
    -- that is not dead counts as notified, because it may be subscribed on another server.
    local function notify(channel, now, anywhere)
        local notified = ''
        while list.count > 0 and notified == '' do
            local id = list.first
            local heard = not dead(id, now) and redis.pcall('PUBLISH', channel .. id, key)
            if type(heard) == 'table' then
                break -- an error: the account may not publish, so waiters poll
            elseif heard and (heard > 0 or anywhere) then
                notified = id
            else
                list.drop(id)
            end
        end
        list.save()
        return notified
    end

    -- call notifies the first waiter, and removes it from the queue. If the waiter acquires the lock too late, its next
    -- request appends it to the queue again. call also tells the waiter behind it, which sends a request if it is not
    -- notified soon: the first waiter may be suspended, or its host may have vanished.
    local function call(channel, now, anywhere)
        local id = notify(channel, now, anywhere)
        if id ~= '' then
            quit(id)
            if list.count > 0 then
                redis.pcall('PUBLISH', channel .. list.first, 'next ' .. key)
            end
        end
        return id
    end

    return {join = join, quit = quit, notify = notify, call = call}
end

