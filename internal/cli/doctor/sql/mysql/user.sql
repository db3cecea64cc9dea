-- Parameters: none.
-- Result: one row: the account of this user, quoted as a statement needs it. The user's name may hold an @, and its host holds none.
-- Promise: reads only.
SELECT concat(quote(left(current_user(), char_length(current_user()) - char_length(substring_index(current_user(), '@', -1)) - 1)),
              '@', quote(substring_index(current_user(), '@', -1)))
