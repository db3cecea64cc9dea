-- Parameters: none. Result: one row: the account of this user, quoted for a statement. The user name may contain an @,
-- and the host never contains an @. Promise: reads only.
SELECT concat(quote(left(current_user(), char_length(current_user()) - char_length(substring_index(current_user(), '@', -1)) - 1)),
              '@', quote(substring_index(current_user(), '@', -1)))
