-- Parameters: KEYS[1] the mark, ARGV[1] the token; both are taken away from what the script behind sees.
-- Result: an error that begins with STALE when the mark has seen a larger token; else that of the script behind.
-- Promise: the mark is raised to the token in the same step as whatever follows; tokens are compared exactly, however large.
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
