"""Answers the requests of "rowlock locktest" (docs/protocol.md) with the SQL functions, and uses nothing else of rowlock.

Each operation is one statement. Its parameter is the request, and its result is the reply, both in JSON.
"""

import json
import os
import sys
import threading

import psycopg

STATEMENTS = {
    "acquire": """
        SELECT CASE a.verdict WHEN 'granted' THEN json_build_object('token', a.token::text)
               ELSE json_build_object('error', 'held', 'reason', a.verdict, 'token', a.token::text,
                   'holder', coalesce(a.held_by, ''), 'note', coalesce(l.note, ''),
                   'since_us', coalesce(1e6 * extract(epoch FROM clock_timestamp() - l.since), 0)::bigint,
                   'free_in_us', coalesce(1e6 * extract(epoch FROM a.free_in), 0)::bigint) END
          FROM json_to_record(%s) q (name text, namespace text, nonce uuid, ttl_us bigint, holder text, note text)
         CROSS JOIN rowlock_lease_try_acquire(q.name, q.ttl_us * interval '1 us', q.holder, q.note, q.nonce, q.namespace) a
         LEFT JOIN rowlock_lease_locks l ON (l.namespace, l.name) = (q.namespace, q.name)""",
    "renew": """
        SELECT json_build_object('outcomes', json_agg(CASE
                   WHEN rowlock_lease_renew(g.name, g.nonce, g.token, g.ttl_us * interval '1 us', g.namespace) THEN 'renewed' ELSE 'lost' END))
          FROM json_to_recordset(%s::json -> 'grants') g (name text, namespace text, nonce uuid, token bigint, ttl_us bigint)""",
    "release": """
        SELECT CASE WHEN rowlock_lease_release(q.name, q.nonce, q.token, q.namespace) THEN '{}' ELSE '{"error": "not held"}' END::json
          FROM json_to_record(%s) q (name text, namespace text, nonce uuid, token bigint)""",
}


def answer(q):
    """Returns the reply to the request q. If another session has locked the row of one of several grants, it renews
    each grant alone."""
    if q["op"] == "capabilities":
        return {"backend": "sqllock/postgres", "tokens": "linearizable"}
    conn = idle.pop() if idle else psycopg.connect(os.environ["ROWLOCK_STORE"], autocommit=True, prepare_threshold=None)
    try:
        reply = conn.execute(STATEMENTS[q["op"]], [json.dumps(q)]).fetchone()[0]
        idle.append(conn)
        return reply
    except psycopg.errors.LockNotAvailable:  # a renewal
        idle.append(conn)
        if len(q["grants"]) == 1:
            return {"outcomes": ["unknown"]}
        return {"outcomes": [answer({**q, "grants": [g]}).get("outcomes", ["unknown"])[0] for g in q["grants"]]}
    except psycopg.Error as e:
        return {"error": "not applied" if e.sqlstate else "unknown", "message": str(e)}


def serve(q):
    line = json.dumps({**answer(q), "id": q["id"]})
    with writing:
        print(line, flush=True)


idle = []  # connections that no thread uses
writing = threading.Lock()
for line in sys.stdin:
    threading.Thread(target=serve, args=[json.loads(line)], daemon=True).start()
