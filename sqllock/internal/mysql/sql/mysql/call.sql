-- Parameters: none. The ear's number replaces the twelve zeros, because MySQL accepts no parameter here.
-- Result: error 1094 if no connection is the ear with this number; error 1095 if the ear belongs to another user, and this user lacks the right to end its statement.
-- Promise: ends the statement in which the ear sleeps. The connection is found by the named lock that only the ear holds, so no other connection is concerned. It changes nothing if the ear is between two sleeps.
KILL QUERY IS_USED_LOCK('rowlock-ear 000000000000')
