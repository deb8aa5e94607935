-- Append-only ledgers, and the chains of seals that reveal a changed row.

-- SHA-256 of a record as PostgreSQL prints it. Nulls are left out, so that a new column changes no old hash.
create function sealed_hash(sealed jsonb) returns bytea language sql immutable parallel safe
  as $$ select sha256(convert_to(jsonb_strip_nulls(sealed)::text, 'UTF8')) $$;
create function salted_hash(salt bytea, detail jsonb) returns bytea language sql immutable parallel safe
  as $$ select sha256(salt || convert_to(detail::text, 'UTF8')) $$;

-- Partitioned by month, as every table "partition by range (id)": an id begins with its time. db/partitions makes and
-- drops the months.
-- diff, ip and request_id (which callers choose) are personal and have a random salt; record_hash covers their
-- detail_hash. An erasure removes these columns and the salt, and the seals still verify. No foreign key: rows are
-- written under the property's role alone, and the check cost as much as an index.
create table audit_logs (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  actor_type text not null check (actor_type in ('player', 'user', 'api_key', 'system')),
  actor_id uuid,
  client text,
  action text not null,
  entity text,
  entity_id uuid,
  diff jsonb,
  ip text,
  request_id text,
  record_hash bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  salt bytea,
  detail_hash bytea,
  erased_by uuid,
  primary key (property_id, id)
) partition by range (id);
create index audit_logs_created on audit_logs (property_id, created_at, id);
create index audit_logs_entity on audit_logs (property_id, entity_id);
create index audit_logs_erased on audit_logs (property_id, erased_by) where erased_by is not null;

-- One closed range of a ledger: its ordered rows, and the previous seal.
create table ledger_seals (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  ledger text not null check (ledger in ('audit_logs', 'consent_records')),
  seq int not null check (seq > 0),
  from_at timestamptz not null,
  to_at timestamptz not null,
  row_ids uuid[] not null,
  row_hashes bytea[] not null,
  previous_hash bytea,
  seal_hash bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- A MAC of seal_hash, under a key from APP_SECRET; key_id identifies that key.
  mac bytea not null,
  key_id text not null,
  primary key (property_id, id),
  unique (property_id, ledger, seq)
);

-- The audit rows of the month that ends at `until` were dropped when their retention ended. Their seals stay, and
-- verify the chain. The mac (key from APP_SECRET) covers the whole row, so that nobody else can pass a removal off as this.
create table audit_retirements (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  until timestamptz not null,
  rows bigint not null,
  -- The last seal with a row of the range.
  seal_seq int not null,
  -- {erased_by, ids}: the rows of the range that an erasure had blanked.
  blanked jsonb not null default '[]',
  -- {erased_by, blanked}: what the erasures that the range recorded had blanked, of all ledgers.
  erasures jsonb not null default '[]',
  mac bytea not null,
  key_id text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, until)
);

call isolate_tenants('audit_logs', 'ledger_seals', 'audit_retirements');

-- The personal columns of a row may be blanked once; nothing else may change.
revoke update, delete on audit_logs, ledger_seals, audit_retirements from app_property;
revoke insert on audit_retirements from app_property;
grant update (diff, ip, request_id, salt, erased_by, updated_at) on audit_logs to app_property;
create policy erasure on audit_logs as restrictive for update to app_property
  using (erased_by is null) with check (erased_by is not null and num_nonnulls(diff, ip, request_id, salt) = 0);

-- One job seals the ledgers of all properties.
create policy sealing on audit_logs for select to app_system using (true);
create policy platform on audit_logs for insert to app_system with check (true);
create policy platform on ledger_seals to app_system using (true) with check (true);
create policy platform on audit_retirements to app_system using (true) with check (true);
grant select, insert on audit_logs, ledger_seals, audit_retirements to app_system;
grant update on audit_retirements to app_system;

-- The platform's own audit log is a ledger too.
create table system_audit_logs (
  id uuid primary key default uuid_v7(),
  actor_type text not null,
  actor_id uuid,
  action text not null,
  entity text,
  entity_id uuid,
  diff jsonb,
  ip text,
  request_id text,
  created_at timestamptz not null default now(),
  client text,
  salt bytea,
  detail_hash bytea,
  record_hash bytea not null,
  erased_by uuid,
  updated_at timestamptz not null default now()
);
create index system_audit_logs_created on system_audit_logs (created_at, id);

create table system_ledger_seals (
  id uuid primary key default uuid_v7(),
  ledger text not null check (ledger in ('system_audit_logs')),
  seq int not null check (seq > 0),
  from_at timestamptz not null,
  to_at timestamptz not null,
  row_ids uuid[] not null,
  row_hashes bytea[] not null,
  previous_hash bytea,
  seal_hash bytea not null,
  mac bytea not null,
  key_id text not null,
  created_at timestamptz not null default now(),
  unique (ledger, seq)
);

-- The newest seal. It reveals a chain that was cut short.
create table system_ledger_heads (
  ledger text primary key check (ledger in ('system_audit_logs')),
  seq int not null,
  hash text not null
);

grant select, insert on system_audit_logs, system_ledger_seals to app_system;
grant select, insert, update on system_ledger_heads to app_system;

-- The time before which every row of a ledger is visible: no open transaction of this database began earlier. Null
-- where the owner may not see a transaction's start (pg_read_all_stats). On a cluster a transaction may have ended here
-- and still be prepared on another node, with rows that nobody sees until that node's recovery; it was prepared at most
-- its own length, of a minute, after it began. The rows of a node that does not answer cannot be sealed either.
create function ledger_horizon() returns timestamptz language plpgsql security definer volatile
  set search_path = pg_catalog, pg_temp as $$
declare
  horizon timestamptz;
  prepared timestamptz;
begin
  select case when bool_or(a.state is null) or exists (
      select from pg_prepared_xacts where database = current_database()) then null
    else least(min(a.xact_start), clock_timestamp()) end
  into horizon
  from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'virtualxid' and l.virtualxid = l.virtualtransaction and a.pid <> pg_backend_pid()
    and a.datname = current_database();
  if public.is_distributed() then
    execute $q$ select min(nullif(result, '')::timestamptz) from run_command_on_workers(
      'select min(prepared) from pg_prepared_xacts where database = current_database()') where success $q$
    into prepared;
    horizon := case when horizon is not null then least(horizon, prepared - interval '5 minutes') end;
  end if;
  return horizon;
end $$;
revoke execute on function ledger_horizon() from public;
grant execute on function ledger_horizon() to app_system;
