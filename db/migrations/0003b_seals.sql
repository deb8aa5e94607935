-- Seals carry a keyed code beside the hash that links them, and a request's own id counts as personal.

-- `mac`: over seal_hash, under a key from APP_SECRET, which `key_id` tells from another one.
alter table ledger_seals add column mac bytea not null, add column key_id text not null;

-- Callers choose the id of a request, and may name a person in it.
set local timezone = 'UTC';
alter table audit_logs no force row level security;
update audit_logs set detail_hash = salted_hash(salt, jsonb_build_array(diff, ip, request_id)) where salt is not null;
update audit_logs set request_id = null where salt is null;
update audit_logs set record_hash = sealed_hash(jsonb_build_object('property_id', property_id, 'id', id,
  'actor_type', actor_type, 'actor_id', actor_id, 'client', client, 'action', action, 'entity', entity,
  'entity_id', entity_id, 'created_at', created_at, 'detail_hash', detail_hash));
alter table audit_logs force row level security;
grant update (request_id) on audit_logs to app_property;
drop policy erasure on audit_logs;
create policy erasure on audit_logs as restrictive for update to app_property
  using (erased_by is null) with check (erased_by is not null and num_nonnulls(diff, ip, request_id, salt) = 0);
