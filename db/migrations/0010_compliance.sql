-- Rules that block or postpone a message: closed addresses, self-exclusions, quiet hours and frequency caps.

create table suppressions (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  channel text not null check (channel in ('all', 'sms', 'email', 'voice', 'push')),
  address text,
  address_hash bytea not null,
  -- needs_review: the number gets nothing until a person has read its text.
  reason text not null check (reason in ('unsubscribed', 'stop_keyword', 'hard_bounce', 'soft_bounce_limit',
    'complaint', 'invalid', 'manual', 'erased', 'self_excluded', 'import', 'needs_review', 'banned')),
  source text,
  campaign_id uuid,
  player_id uuid,
  expires_at timestamptz,
  lifted_at timestamptz,
  lifted_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create unique index suppressions_active on suppressions (property_id, address_hash, channel, reason)
  where lifted_at is null;
-- An erasure and an export look for these too. A new suppression is not in it.
create index suppressions_lifted on suppressions (property_id, address_hash) where lifted_at is not null;
create index suppressions_player on suppressions (property_id, player_id);
create index suppressions_created on suppressions (property_id, created_at, id);

create table dnc_entries (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  phone text,
  phone_hash bytea not null,
  list text not null default 'internal'
    check (list in ('internal', 'national', 'state', 'litigator', 'reassigned', 'wireless')),
  state text,
  source text,
  requested_at timestamptz not null default now(),
  expires_at timestamptz,
  note text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, phone_hash, list)
);
create index dnc_entries_created on dnc_entries (property_id, created_at, id);

create table self_exclusions (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  player_id uuid,
  identity_hash bytea,
  address_hashes bytea[] not null default '{}',
  program text,
  jurisdiction text,
  starts_at timestamptz not null default now(),
  ends_at timestamptz,
  source text,
  external_ref text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create index self_exclusions_player on self_exclusions (property_id, player_id);
create index self_exclusions_identity on self_exclusions (property_id, identity_hash);
create index self_exclusions_created on self_exclusions (property_id, created_at, id);

create table quiet_hours_rules (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  country text check (country ~ '^[A-Z]{2}$'),
  state text check (state is null or country is not null and state ~ '^[A-Z0-9]{1,3}$'),
  channel text[] not null default '{sms,voice}'
    check (channel <> '{}' and channel <@ '{sms,email,voice,push}'::text[]),
  days jsonb not null default '[0,1,2,3,4,5,6]' check (days <> '[]' and days <@ '[0,1,2,3,4,5,6]'),
  open_local text not null default '08:00' check (open_local ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'),
  close_local text not null default '21:00' check (close_local ~ '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$'),
  action text not null default 'defer' check (action in ('defer', 'skip')),
  source_note text,
  effective_from date,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  check (open_local < close_local)
);
create index quiet_hours_rules_created on quiet_hours_rules (property_id, created_at, id);

create table frequency_rules (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  channel text not null default 'any' check (channel in ('any', 'phone', 'sms', 'email', 'voice', 'push')),
  tag text,
  country text check (country ~ '^[A-Z]{2}$'),
  state text check (state is null or country is not null and state ~ '^[A-Z0-9]{1,3}$'),
  max_sends int not null default 1 check (max_sends between 1 and 1000),
  window_count int not null default 1 check (window_count > 0),
  window_unit text not null default 'day' check (window_unit in ('hour', 'day', 'week')),
  mode text not null default 'rolling' check (mode in ('rolling', 'calendar_player_tz')),
  is_active boolean not null default true,
  source_note text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  check (window_count * case window_unit when 'hour' then 1 when 'day' then 24 else 168 end <= 720)
);
create index frequency_rules_created on frequency_rules (property_id, created_at, id);

call isolate_tenants('suppressions', 'dnc_entries', 'self_exclusions', 'quiet_hours_rules', 'frequency_rules');

-- The platform gives a new property its rules.
create policy platform on quiet_hours_rules for insert to app_system with check (true);
create policy platform on frequency_rules for insert to app_system with check (true);
grant insert on quiet_hours_rules, frequency_rules to app_system;

-- The initial rules of a property. The property then changes them as its counsel advises.
create function seed_sending_rules(property uuid) returns void language plpgsql as $$
declare
  own_default constant text := 'Our default where a country has no rule; no law. Have counsel check.';
  tcpa constant text := 'TCPA, 47 CFR 64.1200(c)(1). Have counsel check.';
  state_hours constant text :=
    'State law on telephone solicitation, from public summaries. Have counsel check.';
  state_cap constant text :=
    'State law: three calls or texts in 24 hours on one subject; this counts all. Have counsel check.';
begin
  insert into quiet_hours_rules (property_id, country, state, days, open_local, close_local, source_note)
  values
    (property, null, null, '[0,1,2,3,4,5,6]', '08:00', '21:00', own_default),
    (property, 'US', null, '[0,1,2,3,4,5,6]', '08:00', '21:00', tcpa),
    (property, 'US', 'CT', '[0,1,2,3,4,5,6]', '09:00', '20:00', state_hours),
    (property, 'US', 'FL', '[0,1,2,3,4,5,6]', '08:00', '20:00', 'Fla. Stat. 501.616(6)(a). ' || state_hours),
    (property, 'US', 'MD', '[0,1,2,3,4,5,6]', '08:00', '20:00', state_hours),
    (property, 'US', 'MS', '[1,2,3,4,5,6]', '08:00', '20:00', 'Miss. Code 77-3-723: no solicitation on a Sunday. ' || state_hours),
    (property, 'US', 'NJ', '[0,1,2,3,4,5,6]', '08:00', '20:00', state_hours),
    (property, 'US', 'OK', '[0,1,2,3,4,5,6]', '08:00', '20:00', 'Okla. Stat. tit. 15, 775C.4. ' || state_hours),
    (property, 'US', 'RI', '[1,2,3,4,5]', '09:00', '18:00', 'R.I. Gen. Laws 5-61-2(9), 5-61-3.6. ' || state_hours),
    (property, 'US', 'RI', '[0,6]', '10:00', '17:00', 'R.I. Gen. Laws 5-61-2(9), 5-61-3.6. ' || state_hours),
    (property, 'US', 'TX', '[1,2,3,4,5,6]', '09:00', '21:00', state_hours),
    (property, 'US', 'TX', '[0]', '12:00', '21:00', state_hours);
  insert into frequency_rules (property_id, channel, country, state, max_sends, window_count, window_unit, source_note)
  values
    (property, 'phone', 'US', 'FL', 3, 24, 'hour', 'Fla. Stat. 501.616(6)(b). ' || state_cap),
    (property, 'phone', 'US', 'OK', 3, 24, 'hour', 'Okla. Stat. tit. 15, 775C.4. ' || state_cap);
end $$;
