-- Consents: players' agreements and refusals, with their wording and time.

-- A ledger, as audit_logs is. salt and detail_hash cover its personal columns, which an erasure blanks.
create table consent_records (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  player_id uuid,
  anon_id uuid,
  channel text not null check (channel in ('sms', 'email', 'voice', 'push')),
  action text not null check (action in ('granted', 'denied', 'revoked', 'expired')),
  consent_given boolean not null,
  consent_level text not null default 'express' check (consent_level in ('express_written', 'express', 'implied')),
  purpose text not null default 'marketing',
  consent_source text,
  consent_text text,
  consent_text_sha256 text,
  consent_version text,
  collection_method text,
  jurisdiction text,
  ip_address text,
  user_agent text,
  address_hash bytea,
  occurred_at timestamptz not null default now(),
  recorded_at timestamptz not null default now(),
  expires_at timestamptz,
  actor_type text not null check (actor_type in ('player', 'user', 'api_key', 'system')),
  actor_id uuid,
  record_hash bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  salt bytea,
  detail_hash bytea,
  erased_by uuid,
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create index consent_records_player on consent_records (property_id, player_id, channel, occurred_at desc, id desc);
create index consent_records_created on consent_records (property_id, created_at, id);
create index consent_records_expiry on consent_records (property_id, expires_at)
  where action = 'granted' and expires_at is not null;
create index consent_records_erased on consent_records (property_id, erased_by) where erased_by is not null;

call isolate_tenants('consent_records');

-- The personal columns of a row may be blanked once; nothing else may change.
revoke update, delete on consent_records from app_property;
grant update (player_id, anon_id, consent_source, consent_text, consent_text_sha256, consent_version, jurisdiction,
  ip_address, user_agent, address_hash, salt, erased_by, updated_at) on consent_records to app_property;
create policy erasure on consent_records as restrictive for update to app_property
  using (erased_by is null) with check (erased_by is not null and num_nonnulls(player_id, consent_source,
    consent_text, consent_text_sha256, consent_version, jurisdiction, ip_address, user_agent, address_hash, salt) = 0);

-- One job seals the ledgers of all properties.
create policy sealing on consent_records for select to app_system using (true);
grant select on consent_records to app_system;
