-- Privacy: what persons ask for, ledgers whose personal parts can be erased, and the seals over the ledgers.

-- ISO 8601 durations by regulation: a request is answered within this time. An operator may change them.
alter table properties add column privacy_deadlines jsonb not null default '{"gdpr": "P1M", "ccpa": "P45D"}';
-- The newest seal of each ledger, where a property's own role cannot write: a chain cut short is found by it.
alter table properties add column ledger_heads jsonb not null default '{}';

create table privacy_requests (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  player_id uuid,
  type text not null check (type in ('export', 'deletion', 'correction', 'restriction', 'objection')),
  status text not null default 'received'
    check (status in ('received', 'verifying', 'processing', 'completed', 'rejected')),
  regulation text not null default 'gdpr',
  received_at timestamptz not null default now(),
  due_at timestamptz not null,
  completed_at timestamptz,
  requested_by uuid,
  note text,
  -- What the function that completed it did, in numbers.
  result jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create index privacy_requests_player on privacy_requests (property_id, player_id);
create index privacy_requests_created on privacy_requests (property_id, created_at, id);

-- A ledger's row is never changed. What is personal in it stands beside a random salt, and the sealed part holds
-- the hash of both: when the person is erased, salt and fields go, and the seals still hold.
alter table audit_logs add column salt bytea, add column detail_hash bytea, add column erased_by uuid;
alter table consent_records add column salt bytea, add column detail_hash bytea, add column erased_by uuid;
create index audit_logs_entity on audit_logs (property_id, entity_id);
create index audit_logs_erased on audit_logs (property_id, erased_by) where erased_by is not null;
create index consent_records_erased on consent_records (property_id, erased_by) where erased_by is not null;

-- SHA-256 of a record as PostgreSQL prints it. Nulls are left out, so that a new column changes no old hash.
create function sealed_hash(sealed jsonb) returns bytea language sql immutable parallel safe
  as $$ select sha256(convert_to(jsonb_strip_nulls(sealed)::text, 'UTF8')) $$;
create function salted_hash(salt bytea, detail jsonb) returns bytea language sql immutable parallel safe
  as $$ select sha256(salt || convert_to(detail::text, 'UTF8')) $$;

-- Rows of before are sealed as they are now. Their owner is held by row-level security too, while it is forced.
set local timezone = 'UTC';
alter table audit_logs no force row level security;
alter table consent_records no force row level security;
update audit_logs set salt = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
update audit_logs set detail_hash = salted_hash(salt, jsonb_build_array(diff, ip));
update audit_logs set record_hash = sealed_hash(jsonb_build_object('property_id', property_id, 'id', id,
  'actor_type', actor_type, 'actor_id', actor_id, 'client', client, 'action', action, 'entity', entity,
  'entity_id', entity_id, 'request_id', request_id, 'created_at', created_at, 'detail_hash', detail_hash));
update consent_records set salt = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
update consent_records set detail_hash = salted_hash(salt, jsonb_build_array(player_id, consent_source,
  consent_text, consent_text_sha256, consent_version, jurisdiction, ip_address, user_agent, address_hash));
update consent_records set record_hash = sealed_hash(jsonb_build_object('property_id', property_id, 'id', id,
  'channel', channel, 'action', action, 'consent_given', consent_given, 'consent_level', consent_level,
  'purpose', purpose, 'collection_method', collection_method, 'occurred_at', occurred_at,
  'recorded_at', recorded_at, 'expires_at', expires_at, 'actor_type', actor_type, 'actor_id', actor_id,
  'created_at', created_at, 'detail_hash', detail_hash));
alter table audit_logs force row level security;
alter table consent_records force row level security;

-- Whoever serves requests may blank the personal part of a row, once, and change nothing.
revoke update on consent_records from app_property;
grant update (player_id, anon_id, consent_source, consent_text, consent_text_sha256, consent_version, jurisdiction,
  ip_address, user_agent, address_hash, salt, erased_by, updated_at) on consent_records to app_property;
grant update (diff, ip, salt, erased_by, updated_at) on audit_logs to app_property;
create policy erasure on audit_logs as restrictive for update to app_property
  using (erased_by is null) with check (erased_by is not null and num_nonnulls(diff, ip, salt) = 0);
create policy erasure on consent_records as restrictive for update to app_property
  using (erased_by is null) with check (erased_by is not null and num_nonnulls(player_id, consent_source,
    consent_text, consent_text_sha256, consent_version, jurisdiction, ip_address, user_agent, address_hash, salt) = 0);

-- One closed range of a ledger: its rows in their order, and the seal before this one.
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
  primary key (property_id, id),
  unique (property_id, ledger, seq)
);

-- The time before which every row of a ledger can be seen: no transaction in this database is open that began
-- earlier. Null where someone's transaction is open whose start the owner may not see (pg_read_all_stats).
create function ledger_horizon() returns timestamptz language sql security definer volatile
  set search_path = pg_catalog, pg_temp as $$
  select case when bool_or(a.state is null) or exists (
      select from pg_prepared_xacts where database = current_database()) then null
    else least(min(a.xact_start), clock_timestamp()) end
  from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'virtualxid' and l.virtualxid = l.virtualtransaction and a.pid <> pg_backend_pid()
    and a.datname = current_database()
$$;
revoke execute on function ledger_horizon() from public;
grant execute on function ledger_horizon() to app_system;

-- Removes what the queue would still do about a player, and what failed jobs have kept of the person. Of its own
-- property alone: a tenant can neither read nor remove jobs.
create function forget_jobs(player uuid, patterns text[]) returns int language sql security definer volatile
  set search_path = public, pg_temp as $$
  with gone as (
    delete from queue
    where property_id = current_property() and state <> 'running' and name <> 'finish_erasure'
      and (input::text like '%' || player || '%' or input::text ilike any (patterns))
    returning 1
  ), hushed as (
    update queue set last_error = null
    where property_id = current_property() and state <> 'running'
      and (last_error like '%' || player || '%' or last_error ilike any (patterns))
  )
  select count(*)::int from gone
$$;
revoke execute on function forget_jobs(uuid, text[]) from public;
grant execute on function forget_jobs(uuid, text[]) to app_property;

create index mailbox_messages_recipient on mailbox_messages (property_id, recipient);

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['privacy_requests', 'ledger_seals'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format('create policy tenant on %I to app_property using (property_id = (select current_property()))'
      ' with check (property_id = (select current_property()))', tenant_table);
    execute format('create policy reader on %I for select to app_reader using (true)', tenant_table);
    execute format('grant select, insert, update, delete on %I to app_property', tenant_table);
    execute format('grant select on %I to app_reader', tenant_table);
  end loop;
end $$;
revoke update, delete on ledger_seals from app_property;

-- The ledgers of all properties are sealed by one job.
create policy platform on ledger_seals to app_system using (true) with check (true);
grant select, insert on ledger_seals to app_system;
create policy sealing on audit_logs for select to app_system using (true);
create policy sealing on consent_records for select to app_system using (true);
grant select on audit_logs, consent_records to app_system;
