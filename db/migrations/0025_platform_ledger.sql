-- The platform's own audit log is a ledger as a property's is: each row carries its hash, and ranges are sealed.

alter table system_audit_logs add column client text, add column salt bytea, add column detail_hash bytea,
  add column record_hash bytea, add column erased_by uuid, add column updated_at timestamptz not null default now();
create index system_audit_logs_created on system_audit_logs (created_at, id);

-- Rows of before are sealed as they are now.
set local timezone = 'UTC';
update system_audit_logs set updated_at = created_at,
  salt = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
update system_audit_logs set detail_hash = salted_hash(salt, jsonb_build_array(diff, ip, request_id));
update system_audit_logs set record_hash = sealed_hash(jsonb_build_object('id', id, 'actor_type', actor_type,
  'actor_id', actor_id, 'client', client, 'action', action, 'entity', entity, 'entity_id', entity_id,
  'created_at', created_at, 'detail_hash', detail_hash));
alter table system_audit_logs alter column record_hash set not null;

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
-- The newest seal: a chain cut short is found by it.
create table system_ledger_heads (
  ledger text primary key check (ledger in ('system_audit_logs')),
  seq int not null,
  hash text not null
);
grant select, insert on system_ledger_seals to app_system;
grant select, insert, update on system_ledger_heads to app_system;
