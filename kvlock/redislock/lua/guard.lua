-- Parameters: KEYS[1] the mark, ARGV[1] the token. Both are removed from KEYS and ARGV before the guarded script runs.
-- Result: an error that begins with STALE if the mark holds a larger token. Otherwise the result of the guarded script.
-- Promise: raises the mark to the token atomically with the guarded script. Compares tokens exactly, of any size.
do
    local mark, token = table.remove(KEYS, 1), table.remove(ARGV, 1)
    local seen = redis.call('GET', mark) or '0'
    if #token < #seen or (#token == #seen and token < seen) then
        return redis.error_reply('STALE token ' .. token .. ' is older than ' .. seen)
    end
    if token ~= seen then
        redis.call('SET', mark, token)
    end
end
