-- Players, their custom fields, their events and their social shares.

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- HMAC-SHA256 (RFC 2104) from its two padded keys: addresses are hashed set-based, without an extension. An Argentine
-- mobile number is hashed without the 9 behind its country code, since people write it in both forms.
create function address_hash(inner_pad bytea, outer_pad bytea, address text) returns bytea
  language sql immutable parallel safe
  as $$ select sha256(outer_pad || sha256(inner_pad || convert_to(
    regexp_replace(address, '^\+549(\d{10})$', '+54\1'), 'UTF8'))) $$;

create table players (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  player_id text not null,
  email text,
  phone text,
  first_name text,
  last_name text,
  tier text,
  adt double precision,
  coin_in double precision,
  lifetime_theo double precision,
  status text not null default 'active'
    check (status in ('active', 'inactive', 'vip_hold', 'banned', 'self_excluded', 'deceased', 'erased')),
  timezone text,
  state text,
  postal_code text,
  country text,
  birth_date date,
  language text,
  phone_type text,
  email_status text not null default 'unknown'
    check (email_status in ('unknown', 'deliverable', 'risky', 'undeliverable')),
  email_validated_at timestamptz,
  consents jsonb not null default '{}',
  consent_expiries jsonb,
  -- The level of each consent in force that is not plainly express. Calls need express_written.
  consent_levels jsonb,
  custom jsonb not null default '{}',
  last_visit_at timestamptz,
  host_id uuid,
  tags text[] not null default '{}',
  legal_hold boolean not null default false,
  email_hash bytea,
  phone_hash bytea,
  import_job_id uuid,
  deleted_at timestamptz,
  -- The record that this one was merged into. Its player_id then means that record.
  merged_into uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The database computes these columns at each write, so that no writer can forget them.
  zones text[] not null
    generated always as (player_zones(timezone, country, state, postal_code, phone)) stored,
  region text not null
    generated always as (player_region(country, state, postal_code, phone)) stored,
  -- A player who may not be contacted, or has refused, blocks the address for all players who share it. These are
  -- columns, because an update that keeps their values touches no index.
  bars_email boolean not null generated always as (deleted_at is null
    and (status not in ('active', 'inactive') or email_status = 'undeliverable'
      or coalesce(consents ->> 'email' = 'false', false))) stored,
  bars_sms boolean not null generated always as (deleted_at is null
    and (status not in ('active', 'inactive') or coalesce(consents ->> 'sms' = 'false', false))) stored,
  bars_voice boolean not null generated always as (deleted_at is null
    and (status not in ('active', 'inactive') or coalesce(consents ->> 'voice' = 'false', false))) stored,
  primary key (property_id, id)
);
create unique index players_player_id on players (property_id, player_id) where deleted_at is null;
-- The number of a deleted record leads to the record that it was merged into, or keeps the bar of its person.
create index players_deleted_id on players (property_id, player_id) where deleted_at is not null;
-- Whether the property has such a bar at all.
create index players_barred_id on players (property_id, player_id)
  where deleted_at is not null and merged_into is null and status in ('banned', 'deceased', 'self_excluded');
create index players_merged_into on players (property_id, merged_into) where merged_into is not null;
create index players_email on players (property_id, email) where deleted_at is null;
create index players_phone on players (property_id, phone) where deleted_at is null;
create index players_created on players (property_id, created_at, id) where deleted_at is null;
-- Partial, so that only the primary key serves the check of a foreign key. To the planner all indexes look equally good
-- while a table is small, and a connection keeps the plan of a check: each check would read the whole property later.
create index players_email_hash on players (property_id, email_hash) where email_hash is not null;
create index players_phone_hash on players (property_id, phone_hash) where phone_hash is not null;
-- Under either condition of its queries: one birth date, or all players in its order.
create index players_birth_date on players (property_id, birth_date)
  where birth_date is not null or deleted_at is null;
create index players_bars_email on players (property_id, email_hash) where bars_email;
create index players_bars_phone on players (property_id, phone_hash) where bars_sms or bars_voice;
-- Substring search. The property is in the index: otherwise a rare pattern would cost a small property the matches of
-- all others.
create index players_email_trgm on players using gin (property_id, email gin_trgm_ops);
create index players_name_trgm on players using gin (property_id, first_name gin_trgm_ops, last_name gin_trgm_ops);
create index players_phone_trgm on players using gin (property_id, phone gin_trgm_ops);

create table custom_fields (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  key text not null,
  label text not null,
  type text not null check (type in ('text', 'number', 'boolean', 'date', 'datetime', 'enum', 'text_list')),
  enum_values text[] not null default '{}',
  is_pii boolean not null default false,
  archived_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, key)
);
create index custom_fields_created on custom_fields (property_id, created_at, id);

-- One table, without monthly partitions: an external_id is unique within the property at any time. An index over
-- partitions could not enforce that without the time in it.
create table player_events (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  player_id uuid not null,
  name text not null,
  occurred_at timestamptz not null default now(),
  properties jsonb not null default '{}',
  source text,
  external_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create unique index player_events_external_id on player_events (property_id, external_id)
  where external_id is not null;
create index player_events_player on player_events (property_id, player_id, name, occurred_at);
create index player_events_name on player_events (property_id, name, occurred_at);
create index player_events_created on player_events (property_id, created_at, id);

create table social_shares (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  player_id uuid not null,
  network text not null,
  content_type text not null check (content_type in ('game', 'offer', 'campaign')),
  content_id text,
  share_url text,
  clicks int not null default 0 check (clicks >= 0),
  -- Of programs that look at links.
  machine_clicks int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create index social_shares_player on social_shares (property_id, player_id);
create index social_shares_created on social_shares (property_id, created_at, id);

call isolate_tenants('players', 'custom_fields', 'player_events', 'social_shares');
