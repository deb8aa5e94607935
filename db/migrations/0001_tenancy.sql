-- Ids, and the wall between tenants. db/roles.ts makes the roles.

grant usage on schema public to app_idle, app_property, app_system, app_reader;

-- UUIDv7, for rows that SQL makes: 48 bits of milliseconds, the version, and 12 bits of 1/4096 milliseconds, so that
-- the ids of one statement rise. PostgreSQL 18 has a function of its own. Below, two ids of one microsecond have no order.
do $$
begin
  if current_setting('server_version_num')::int >= 180000 then
    create function uuid_v7() returns uuid language sql volatile parallel safe as 'select uuidv7()';
  else
    create function uuid_v7() returns uuid language sql volatile parallel safe as $f$
      select overlay(gen_random_uuid()::text
        placing overlay(lpad(to_hex((extract(epoch from clock_timestamp()) * 4096000)::bigint), 15, '0')
          placing '7' from 13 for 0)
        from 1 for 18)::uuid
    $f$;
  end if;
end $$;

-- A new UUIDv7 with the time of another one, and so in the order of the others.
create function uuid_v7_of(uuid) returns uuid language sql volatile parallel safe
  as $$ select encode(overlay(uuid_send(uuid_v7()) placing substring(uuid_send($1) from 1 for 8) from 1 for 8), 'hex')::uuid $$;

-- The lowest UUIDv7 of a time: conditions on a time of creation then bound the id too, by which tables are partitioned.
create function first_id_of(moment timestamptz) returns uuid language sql immutable parallel safe
  as $$ select (lpad(to_hex(floor(least(greatest(extract(epoch from moment) * 1000, 0), 281474976710655))::bigint), 12, '0')
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

-- Whether Citus distributes the tables.
create function is_distributed() returns boolean language sql stable
  as $$ select exists (select from pg_extension where extname = 'citus') $$;

-- The table that has the current property's rows of a tenants' table: on a cluster a shard, and null on the nodes that
-- do not have it.
create function shard_of(tenant_table regclass) returns regclass language plpgsql stable as $$
begin
  if is_distributed() then
    return to_regclass(
      shard_name(tenant_table, get_shard_id_for_distribution_column(tenant_table, current_property())));
  end if;
  return tenant_table;
end $$;

-- Collects the planner's statistics of a tenants' table. A statement that reads a row of the property's calls it, because
-- Citus then runs it on the node that has the rows. Without statistics, every node that autovacuum has not visited yet
-- would plan for an empty table.
create function analyze_shard(tenant_table regclass, columns text) returns void language plpgsql as $$
begin
  if shard_of(tenant_table) is not null then
    execute format('analyze %s (%s)', shard_of(tenant_table), columns);
  end if;
end $$;
revoke execute on function analyze_shard(regclass, text) from public;
