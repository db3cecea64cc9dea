-- A schema of a user who may create objects on the search_path. It overloads each operator and function that is named
-- in searchpath.operators and searchpath.functions. An overload has the argument types of the original in pg_catalog,
-- except for one argument, whose type PostgreSQL would have to convert. PostgreSQL prefers the overload if an
-- argument has that type.
CREATE SCHEMA hostile;

CREATE FUNCTION hostile.make(name text, args oid[], result oid) RETURNS void LANGUAGE plpgsql AS $make$
BEGIN
    EXECUTE format('CREATE FUNCTION hostile.%I(%s) RETURNS %s LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION ''hostile %s''; END $$',
        name, array_to_string(args::regtype[], ', '), result::regtype, name);
EXCEPTION
    WHEN duplicate_function THEN
END $make$;

-- The types of the columns, parameters and constants of all statements, and related types.
CREATE TABLE hostile.types AS
SELECT unnest('{boolean,smallint,integer,bigint,oid,xid,tid,regclass,regproc,regnamespace,numeric,real,double precision,text,varchar,bpchar,name,"char",uuid,
    timestamp,timestamptz,date,interval,bytea,json,jsonb,pg_lsn,inet,bit,varbit,text[],uuid[],tid[],name[],integer[],bigint[]}'::regtype[])::oid AS type;

-- The types that PostgreSQL accepts where another type is required. A constant without a type is text if a function accepts text.
CREATE TABLE hostile.taken AS
SELECT c.castsource AS given, c.casttarget AS wanted FROM pg_cast c WHERE c.castcontext = 'i' AND c.castsource <> c.casttarget
 UNION
SELECT t.type, w.oid FROM hostile.types t, pg_type w WHERE w.typtype = 'p' AND (w.typname LIKE 'any%' OR w.typname = 'record')
 UNION
SELECT 'text'::regtype, t.type FROM hostile.types t WHERE t.type <> 'text'::regtype;

DO $operators$
DECLARE
    o record;
BEGIN
    FOR o IN
        WITH known AS (
            SELECT b.oprname AS name, b.oprleft AS l, b.oprright AS r, b.oprresult AS result
              FROM pg_operator b
             WHERE b.oprnamespace = 'pg_catalog'::regnamespace AND b.oprkind = 'b'
               AND b.oprname IN (SELECT name FROM searchpath.operators)
        ), wanted AS (
            SELECT k.name, t.given AS l, k.r, k.result FROM known k JOIN hostile.taken t ON t.wanted = k.l
             UNION
            SELECT k.name, k.l, t.given AS r, k.result FROM known k JOIN hostile.taken t ON t.wanted = k.r
             UNION
            SELECT k.name, l.given AS l, r.given AS r, k.result FROM known k JOIN hostile.taken l ON l.wanted = k.l JOIN hostile.taken r ON r.wanted = k.r
             WHERE k.l::regtype::text LIKE 'any%' AND k.r::regtype::text LIKE 'any%' AND l.given = r.given
        )
        SELECT DISTINCT ON (w.name, w.l, w.r) w.name, w.l, w.r,
               CASE WHEN w.result::regtype::text LIKE 'any%' THEN w.l ELSE w.result END AS result
          FROM wanted w
         WHERE w.l IN (SELECT type FROM hostile.types) AND w.r IN (SELECT type FROM hostile.types)
           AND NOT EXISTS (SELECT FROM known k WHERE k.name = w.name AND k.l = w.l AND k.r = w.r)
         ORDER BY w.name, w.l, w.r, (w.l = w.result)::int + (w.r = w.result)::int DESC, w.result
    LOOP
        PERFORM hostile.make('operator_' || o.result, ARRAY[o.l, o.r], o.result);
        EXECUTE format('CREATE OPERATOR hostile.%s (FUNCTION = hostile.operator_%s, LEFTARG = %s, RIGHTARG = %s)',
            o.name, o.result, o.l::regtype, o.r::regtype);
    END LOOP;
END $operators$;

DO $functions$
DECLARE
    f record;
BEGIN
    FOR f IN
        WITH known AS (
            SELECT p.proname AS name, p.prorettype AS result, n.given, (p.proargtypes::oid[])[0:n.given - 1] AS args
              FROM pg_proc p, generate_series(greatest(p.pronargs - p.pronargdefaults, 1), p.pronargs) n(given)
             WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a', 'w')
               AND p.proname IN (SELECT name FROM searchpath.functions)
        ), wanted AS (
            SELECT k.name, k.result, (
                   SELECT array_agg(CASE WHEN a.n = at.n THEN t.given ELSE a.type END ORDER BY a.n)
                     FROM unnest(k.args) WITH ORDINALITY a(type, n)) AS args
              FROM known k, generate_series(1, k.given) at(n), unnest(k.args) WITH ORDINALITY one(type, n), hostile.taken t
             WHERE one.n = at.n AND t.wanted = one.type
        )
        SELECT DISTINCT ON (w.name, w.args) w.name, w.args,
               CASE WHEN w.result::regtype::text LIKE 'any%' OR w.result IN ('record'::regtype, 'trigger'::regtype) THEN w.args[1] ELSE w.result END AS result
          FROM wanted w
         WHERE NOT EXISTS (SELECT FROM known k WHERE k.name = w.name AND k.args::oid[] = w.args)
           AND NOT EXISTS (SELECT FROM pg_type t WHERE t.oid = ANY (w.args) AND t.typtype = 'p')
         ORDER BY w.name, w.args, w.result
    LOOP
        PERFORM hostile.make(f.name, f.args, f.result);
    END LOOP;
END $functions$;
