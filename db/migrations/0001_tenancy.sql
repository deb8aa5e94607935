-- Ids, and the wall between tenants. db/roles.ts makes the roles.

grant usage on schema public to app_idle, app_property, app_system, app_reader;

-- UUIDv7, in the order of time, for rows that SQL makes. PostgreSQL 18 has a function of its own.
do $$
begin
  if current_setting('server_version_num')::int >= 180000 then
    create function uuid_v7() returns uuid language sql volatile parallel safe as 'select uuidv7()';
  else
    -- As uuidv7(): the 12 bits behind the version are a fraction of the millisecond, so ids of one insert are in its order.
    create function uuid_v7() returns uuid language sql volatile parallel safe as $f$
      select (overlay(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000 * 4096)::bigint), 15, '0')
        placing '7' from 13 for 0) || '-' || right(gen_random_uuid()::text, 17))::uuid
    $f$;
  end if;
end $$;

-- A new UUIDv7 with the time of another one.
create function uuid_v7_of(uuid) returns uuid language sql volatile parallel safe
  as $$ select encode(overlay(uuid_send(uuid_v7()) placing substring(uuid_send($1) from 1 for 6) from 1 for 6), 'hex')::uuid $$;

-- The lowest UUIDv7 of a time: conditions on a time of creation then bound the id too, by which tables are partitioned.
create function first_id_of(moment timestamptz) returns uuid language sql immutable parallel safe
  as $$ select (lpad(to_hex(least(greatest(extract(epoch from moment) * 1000, 0), 281474976710655)::bigint), 12, '0')
    || repeat('0', 20))::uuid $$;

-- The tenant of this transaction; null where none is set.
create function current_property() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('app.property_id', true), '')::uuid $$;

-- Isolates tables that have a property_id. app_property sees only the rows of the current property. app_reader sees
-- all rows, because db/query/reader.ts puts the property into each of its statements. Row-level security is forced,
-- because the owner would bypass it. The policies have no subquery, because a distributed table allows none.
create procedure isolate_tenants(variadic tables regclass[]) language plpgsql as $$
declare
  tenant_table regclass;
begin
  foreach tenant_table in array tables loop
    execute format('alter table %s enable row level security, force row level security', tenant_table);
    execute format('create policy tenant on %s to app_property'
      ' using (property_id = current_property()) with check (property_id = current_property())', tenant_table);
    execute format('create policy reader on %s for select to app_reader using (true)', tenant_table);
    execute format('grant select, insert, update, delete on %s to app_property', tenant_table);
    execute format('grant select on %s to app_reader', tenant_table);
  end loop;
end $$;
revoke execute on procedure isolate_tenants from public;

-- Whether Citus distributes the tables. A distributed table cannot be analyzed in a transaction that has read it; the
-- autovacuum of each node analyzes it.
create function is_distributed() returns boolean language sql stable
  as $$ select exists (select from pg_extension where extname = 'citus') $$;
