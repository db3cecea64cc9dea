-- This file is prepended to the scripts that use it. It implements a linked list in the lock's hash, so that each step
-- takes constant time for any number of entries. An entry has an id, and a value without spaces. One field describes the
-- list. It holds the ids of the first and the last entry, the count of entries, and the values of the first and the last
-- entry. If there are several entries, each of them has one more field, whose name is a prefix and the entry's id. That
-- field holds the ids of the entries before and behind this entry, or '-' if there is none, and the entry's value. An
-- empty list has no fields. The parameter text is the content of the list's field. The functions of a list read an entry
-- from Redis only when they need it. Only the function save writes. The functions are defined inside linked_list, so that
-- a script which needs no list spends no time on them.
local function linked_list(key, field, prefix, text)
    local first, last, count, first_value, last_value = string.match(text or '', '^([^ ]+) ([^ ]+) (%d+) ([^ ]+) ([^ ]+)$')
    -- entries contains the entries that were read or changed. The ends of the list are the neighbours of the entry '-'.
    local list, ends = nil, {before = last or '-', behind = first or '-'}
    local entries, gone = {['-'] = ends}, {}
    if count == '1' then
        entries[first] = {before = '-', behind = '-', value = first_value}
    end

    -- find returns an entry, or false if there is none.
    local function find(id)
        local one = entries[id]
        if one == nil then
            local before, behind, value = string.match(redis.call('HMGET', key, prefix .. id)[1] or '', '^([^ ]+) ([^ ]+) ([^ ]+)$')
            one = before and {before = before, behind = behind, value = value, stored = true} or false
            entries[id] = one
        end
        return one
    end

    local function value(id)
        return entries[id] and entries[id].value or id == first and first_value or id == last and last_value or find(id).value
    end

    -- link makes two entries neighbours.
    local function link(before, behind)
        local one, other = find(before), find(behind)
        one.behind, one.changed, other.before, other.changed = behind, true, before, true
        list.first, list.last, list.changed = ends.behind, ends.before, true
    end

    -- drop removes an entry, and returns whether it existed.
    local function drop(id)
        local one = find(id)
        if not one then
            return false
        end
        link(one.before, one.behind)
        entries[id], gone[id], list.count = false, one.stored, list.count - 1
        return true
    end

    -- insert adds an entry directly behind the entry before, or at the front if before is '-'.
    local function insert(before, id, value)
        local behind = find(before).behind
        entries[id] = {value = value, stored = gone[id]}
        gone[id], list.count = nil, list.count + 1
        link(before, id)
        link(id, behind)
    end

    -- save writes the changes, and also the given fields of the lock, which are names and values in turn. HDEL comes first:
    -- if the account has no right to HDEL, nothing has been changed yet.
    local function save(...)
        if not list.changed and not ... then
            return
        end
        local deleted, fields = {}, {...}
        if list.count == 0 then
            deleted[1] = field
        else
            fields[#fields + 1] = field
            fields[#fields + 1] = list.first .. ' ' .. list.last .. ' ' .. list.count .. ' ' .. value(list.first) .. ' ' .. value(list.last)
        end
        for id, one in pairs(entries) do
            if one and list.count == 1 then
                gone[id] = one.stored
            elseif one and one.changed and id ~= '-' then
                fields[#fields + 1] = prefix .. id
                fields[#fields + 1] = one.before .. ' ' .. one.behind .. ' ' .. one.value
                one.stored, one.changed = true, nil
            end
        end
        for id in pairs(gone) do
            deleted[#deleted + 1] = prefix .. id
        end
        gone, list.changed = {}, false
        for i = 1, #deleted, 1000 do -- Lua limits the number of arguments
            redis.call('HDEL', key, unpack(deleted, i, math.min(i + 999, #deleted)))
        end
        if #fields > 0 then
            redis.call('HSET', key, unpack(fields))
        end
    end

    list = {
        first = ends.behind, last = ends.before, count = tonumber(count or 0), changed = false,
        find = find, value = value, drop = drop, insert = insert, save = save,
    }
    return list
end

