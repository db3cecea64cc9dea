-- This file is prepended to the scripts that use it. It keeps the shares of a lock. While a lock is shared, its nonce
-- is "shared". The shares are a linked list in the lock's hash, in the order of their expiry. So each step takes
-- constant time if all shares have the same TTL. The field "readers" holds the nonces of the first and the last share,
-- the count of shares, and when the first and the last share expire. It has a meaning only while the lock is shared.
-- If there are several shares, the field "r:NONCE" describes the share with this nonce. It holds the nonces of the
-- shares before and behind it, or '-' if there is none, and when the share expires. The function open returns this
-- list with its methods. The methods read a share from Redis only when they need it. Only the method save writes. The
-- methods are defined inside open, so that a script for an exclusive lease, which does not call open, spends no time
-- on them.
local function open(key, nonce, readers)
    local list = {key = key, first = '-', last = '-', count = 0, shares = {}, gone = {}}
    if nonce == 'shared' then
        local first, last, count, soonest, latest = string.match(readers, '^(%S+) (%S+) (%d+) (%d+) (%d+)$')
        list.first, list.last, list.count, list.soonest, list.latest = first, last, tonumber(count), soonest, latest
        if list.count == 1 then
            list.shares[first] = {before = '-', behind = '-', expires = soonest}
        end
    end

    local function find(list, nonce)
        local one = list.shares[nonce]
        if one == nil then
            local text = redis.call('HMGET', list.key, 'r:' .. nonce)[1]
            one = false
            if text then
                one = {stored = true}
                one.before, one.behind, one.expires = string.match(text, '^(%S+) (%S+) (%d+)$')
            end
            list.shares[nonce] = one
        end
        return one
    end

    -- list.shares contains the shares that were read or changed. A changed share is newer there than in the field
    -- "readers".
    local function soonest(list)
        local one = list.shares[list.first]
        return one and one.expires or list.soonest
    end

    local function latest(list)
        local one = list.shares[list.last]
        return one and one.expires or list.latest
    end

    -- live returns how many shares have not expired.
    local function live(list, now)
        if list.count == 0 or soonest(list) - now > 0 then
            return list.count
        end
        local nonce, count = list.first, list.count
        while count > 0 and find(list, nonce).expires - now <= 0 do
            nonce, count = find(list, nonce).behind, count - 1
        end
        return count
    end

    -- link makes two shares neighbours. One of them may be '-', which is the end of the list.
    local function link(list, before, behind)
        if before == '-' then
            list.first = behind
        else
            local one = find(list, before)
            one.behind, one.changed = behind, true
        end
        if behind == '-' then
            list.last = before
        else
            local one = find(list, behind)
            one.before, one.changed = before, true
        end
    end

    -- drop removes a share, and returns whether it existed.
    local function drop(list, nonce)
        local one = find(list, nonce)
        if not one then
            return false
        end
        link(list, one.before, one.behind)
        list.shares[nonce], list.gone[nonce], list.count = false, one.stored, list.count - 1
        return true
    end

    -- drop_expired removes the shares that have expired.
    local function drop_expired(list, now)
        while list.count > 0 and soonest(list) - now <= 0 do
            drop(list, list.first)
        end
    end

    -- add adds a share behind all shares that do not expire later.
    local function add(list, nonce, expires)
        local before, behind = list.last, '-'
        while before ~= '-' and find(list, before).expires - expires > 0 do
            before, behind = find(list, before).before, before
        end
        list.shares[nonce] = {expires = string.format('%.0f', expires), stored = list.gone[nonce]}
        list.gone[nonce], list.count = nil, list.count + 1
        link(list, before, nonce)
        link(list, nonce, behind)
    end

    -- save writes the changes, and also the given fields of the lock, which are names and values in turn. HDEL comes first:
    -- if the account has no right to HDEL, nothing has been changed yet.
    local function save(list, ...)
        local gone, fields = {}, {...}
        if list.count > 0 then
            fields[#fields + 1] = 'readers'
            fields[#fields + 1] = list.first .. ' ' .. list.last .. ' ' .. list.count .. ' ' .. soonest(list) .. ' ' .. latest(list)
        end
        for nonce, one in pairs(list.shares) do
            if one and list.count == 1 then
                list.gone[nonce] = one.stored
            elseif one and one.changed then
                fields[#fields + 1] = 'r:' .. nonce
                fields[#fields + 1] = one.before .. ' ' .. one.behind .. ' ' .. one.expires
            end
        end
        for nonce in pairs(list.gone) do
            gone[#gone + 1] = 'r:' .. nonce
        end
        for i = 1, #gone, 1000 do -- Lua limits the number of arguments
            redis.call('HDEL', list.key, unpack(gone, i, math.min(i + 999, #gone)))
        end
        if #fields > 0 then
            redis.call('HSET', list.key, unpack(fields))
        end
    end

    list.find, list.live, list.drop, list.drop_expired, list.add, list.last_expiry, list.save = find, live, drop, drop_expired, add, latest, save
    return list
end
