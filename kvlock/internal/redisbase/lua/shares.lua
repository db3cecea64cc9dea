-- This file is prepended to the scripts that use it, behind list.lua. It keeps the shares of a lock. While a lock is
-- shared, its nonce is "shared". The shares are the linked list in the fields "readers" and "r:NONCE", in the order of
-- their expiry. So each step takes constant time if all shares have the same TTL. The value of a share is when it
-- expires. The field "readers" has a meaning only while the lock is shared.
local function open(key, nonce, readers)
    local list = linked_list(key, 'readers', 'r:', nonce == 'shared' and readers)

    -- live returns how many shares have not expired.
    function list.live(now)
        local nonce, count = list.first, list.count
        while count > 0 and list.value(nonce) - now <= 0 do
            nonce, count = list.find(nonce).behind, count - 1
        end
        return count
    end

    -- drop_expired removes the shares that have expired.
    function list.drop_expired(now)
        while list.count > 0 and list.value(list.first) - now <= 0 do
            list.drop(list.first)
        end
    end

    -- add adds a share behind all shares that do not expire later.
    function list.add(nonce, expires)
        local before = list.last
        while before ~= '-' and list.value(before) - expires > 0 do
            before = list.find(before).before
        end
        list.insert(before, nonce, string.format('%.0f', expires))
    end

    function list.last_expiry() return list.value(list.last) end

    return list
end

