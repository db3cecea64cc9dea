-- This file is prepended to the scripts that use it. It implements a linked list in the lock's hash, so that each step
-- takes constant time for any number of entries. An entry has an id, and a value without spaces. One field describes the
-- list. It holds the ids of the first and the last entry, the count of entries, and the values of the first and the last
-- entry. If there are several entries, each of them has one more field, whose name is a prefix and the entry's id. That
-- field holds the ids of the entries before and behind this entry, or '-' if there is none, and the entry's value. An
-- empty list has no fields. The parameter text is the content of the list's field. The methods read an entry from Redis
-- only when they need it. Only the method save writes. The methods are defined inside linked_list, so that a script which
-- needs no list spends no time on them.
local function linked_list(key, field, prefix, text)
    local first, last, count, first_value, last_value = string.match(text or '', '^(%S+) (%S+) (%d+) (%S+) (%S+)$')
    local list = {first = first or '-', last = last or '-', count = tonumber(count or 0)}
    local ends = {[list.first] = first_value, [list.last] = last_value}
    -- entries contains the entries that were read or changed. The ends of the list are the neighbours of the entry '-'.
    local entries, gone = {['-'] = {before = list.last, behind = list.first}}, {}
    if list.count == 1 then
        entries[first] = {before = '-', behind = '-', value = first_value}
    end

    -- find returns an entry, or false if there is none.
    function list:find(id)
        if entries[id] == nil then
            local before, behind, value = string.match(redis.call('HMGET', key, prefix .. id)[1] or '', '^(%S+) (%S+) (%S+)$')
            entries[id] = before and {before = before, behind = behind, value = value, stored = true} or false
        end
        return entries[id]
    end

    function list:value(id)
        return not entries[id] and ends[id] or self:find(id).value
    end

    -- link makes two entries neighbours.
    local function link(before, behind)
        local one, other = list:find(before), list:find(behind)
        one.behind, one.changed = behind, true
        other.before, other.changed = before, true
        list.first, list.last, list.changed = entries['-'].behind, entries['-'].before, true
    end

    -- drop removes an entry, and returns whether it existed.
    function list:drop(id)
        local one = self:find(id)
        if not one then
            return false
        end
        link(one.before, one.behind)
        entries[id], gone[id], self.count = false, one.stored, self.count - 1
        return true
    end

    -- insert adds an entry directly behind the entry before, or at the front if before is '-'.
    function list:insert(before, id, value)
        local behind = self:find(before).behind
        entries[id] = {value = value, stored = gone[id]}
        gone[id], self.count = nil, self.count + 1
        link(before, id)
        link(id, behind)
    end

    -- save writes the changes, and also the given fields of the lock, which are names and values in turn. HDEL comes first:
    -- if the account has no right to HDEL, nothing has been changed yet.
    function list:save(...)
        local deleted, fields = {}, {...}
        if self.changed and self.count == 0 then
            deleted[1] = field
        elseif self.changed then
            fields[#fields + 1] = field
            fields[#fields + 1] = self.first .. ' ' .. self.last .. ' ' .. self.count .. ' ' .. self:value(self.first) .. ' ' .. self:value(self.last)
        end
        for id, one in pairs(entries) do
            if one and self.count == 1 then
                gone[id], one.stored = one.stored, nil
            elseif one and one.changed and id ~= '-' then
                fields[#fields + 1] = prefix .. id
                fields[#fields + 1] = one.before .. ' ' .. one.behind .. ' ' .. one.value
                one.stored, one.changed = true, nil
            end
        end
        for id in pairs(gone) do
            deleted[#deleted + 1] = prefix .. id
        end
        gone, self.changed = {}, nil
        for i = 1, #deleted, 1000 do -- Lua limits the number of arguments
            redis.call('HDEL', key, unpack(deleted, i, math.min(i + 999, #deleted)))
        end
        if #fields > 0 then
            redis.call('HSET', key, unpack(fields))
        end
    end

    return list
end

