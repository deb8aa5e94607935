-- The platform's own tables: properties, users, API keys, and mail to users.

create table properties (
  id uuid primary key default uuid_v7(),
  name text not null,
  slug text not null unique,
  legal_name text,
  postal_address text,
  timezone text not null default 'America/New_York',
  default_country text not null default 'US',
  privacy_policy_url text,
  responsible_gaming_footer text,
  help_text text,
  opt_in_text text,
  min_age int not null default 21 check (min_age between 0 and 120),
  email_consent_mode text not null default 'opt_in' check (email_consent_mode in ('opt_in', 'opt_out')),
  revocation_scope text not null default 'all_channels_phone'
    check (revocation_scope in ('all_channels_phone', 'channel')),
  from_email text,
  from_name text,
  tiers text[] not null default '{Bronze,Silver,Gold,Platinum,Diamond}',
  -- The secret under which the property's addresses are hashed.
  pepper bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- ISO 8601 durations by regulation: the time limit for answering a privacy request. Operators may change them.
  privacy_deadlines jsonb not null default '{"gdpr": "P1M", "ccpa": "P45D"}',
  -- The newest seal of each ledger, out of reach of the property's own role. It reveals a chain that was cut short.
  ledger_heads jsonb not null default '{}',
  hard_bounce_limit int not null default 1 check (hard_bounce_limit > 0),
  complaint_limit int not null default 1 check (complaint_limit > 0),
  soft_bounce_limit int not null default 3 check (soft_bounce_limit > 0),
  sms_opt_out_text text not null default 'Reply STOP to opt out',
  -- The reply to STOP, where the property has its own.
  sms_stop_text text,
  tracking text not null default 'on' check (tracking in ('on', 'off')),
  agent_confirmation text not null default 'on' check (agent_confirmation in ('on', 'off')),
  -- An audience that has grown by more than this since it was approved is another one.
  approval_growth_percent int not null default 25 check (approval_growth_percent between 0 and 1000),
  -- The limits of calls in 24 hours, in players and cost, above which a person approves; null: without limit.
  approval_over_players int check (approval_over_players >= 0),
  approval_over_cost double precision check (approval_over_cost >= 0),
  approval_four_eyes text not null default 'off' check (approval_four_eyes in ('on', 'off')),
  -- Admins and managers get a mail when something waits for approval; the last one was sent then.
  approval_mail text not null default 'on' check (approval_mail in ('on', 'off')),
  approvals_mailed_at timestamptz,
  -- Signed-in analysts see addresses, names and birth dates masked.
  mask_for_analysts boolean not null default false,
  -- Months by table, where the property keeps rows longer than the service does.
  retention jsonb not null default '{}'
);
alter table properties enable row level security;
create policy tenant on properties for select to app_property using (id = current_property());
create policy platform on properties to app_system using (true) with check (true);
grant select on properties to app_property;
-- Rules that the reader computes rows by go by the property's calendar.
grant select (id, timezone) on properties to app_reader;

create table users (
  id uuid primary key default uuid_v7(),
  email text not null unique,
  name text,
  password_hash text not null,
  is_platform_admin boolean not null default false,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Tokens issued before this time are refused. It is a whole second, because a token's iat is one.
  sessions_from timestamptz
);

create table memberships (
  id uuid primary key default uuid_v7(),
  property_id uuid not null references properties on delete cascade,
  user_id uuid not null references users on delete cascade,
  role text not null check (role in ('admin', 'manager', 'analyst')),
  -- As the property calls the person. The account's own name is the platform's.
  name text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (property_id, user_id)
);
create index memberships_user on memberships (user_id);

-- Links by which people join a property. An account and its role are made when the person accepts, so an invitation
-- neither changes another property's person nor shows whether an address has an account. Only the token's SHA-256 is
-- stored. No foreign key: see api_key_uses.
create table invitations (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  email text not null,
  name text,
  role text not null check (role in ('admin', 'manager', 'analyst')),
  invited_by uuid,
  token_hash bytea unique,
  withdrawn_at timestamptz,
  accepted_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '7 days',
  primary key (property_id, email)
);

create table api_keys (
  id uuid primary key default uuid_v7(),
  property_id uuid not null references properties on delete cascade,
  name text not null,
  key_prefix text not null,
  key_hash bytea not null unique,
  scopes text[] not null default '{read,write}',
  rate_limit int not null default 100 check (rate_limit > 0),
  is_active boolean not null default true,
  expires_at timestamptz,
  created_by uuid references users on delete set null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  -- Agents with this key see addresses, names and birth dates masked.
  pii_masked boolean not null default false,
  agent_confirmation text not null default 'on' check (agent_confirmation in ('on', 'off'))
);
create index api_keys_property on api_keys (property_id, created_at);

-- A table beside the keys: each process writes it every 5 s, and a cluster copies the keys to every node. No foreign
-- key, because a local table that references such a copy can deadlock with itself.
create table api_key_uses (
  api_key_id uuid primary key,
  last_used_at timestamptz not null
);

-- One row per user: a newer link replaces the older one. Only the token's SHA-256 is stored. No foreign key, as
-- above: a row outlives its user by at most 30 minutes, and is useless without the user.
create table password_resets (
  user_id uuid primary key,
  token_hash bytea not null unique,
  expires_at timestamptz not null default now() + interval '30 minutes',
  created_at timestamptz not null default now()
);

-- Sessions that were ended by signing out before their time. No foreign key, as above: a row outlives no token.
create table ended_sessions (
  id uuid primary key,
  user_id uuid not null,
  expires_at timestamptz not null
);
create index ended_sessions_user on ended_sessions (user_id);

create table signing_keys (
  kid text primary key,
  private_jwk jsonb not null,
  public_jwk jsonb not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);

-- Counts the changes of keys, users, memberships and properties, so that every process clears its cache.
create table directory_version (
  singleton boolean primary key default true check (singleton),
  version bigint not null default 0
);
insert into directory_version default values;

-- The identity of this installation. Sending is open where `identity` is that of the database which answers: a restored
-- dump or a clone has another one, and nothing is sent from it until an operator releases it.
create table installation (
  singleton boolean primary key default true check (singleton),
  identity text not null,
  -- Of APP_SECRET, from the first start on. No start with another secret is allowed.
  secret_fingerprint text,
  -- The other identity, as a start has first seen it: when, and how far the data went then.
  held_identity text,
  held_since timestamptz,
  data_until timestamptz
);

-- Which database this is: of which server, and made there by which statement.
create function database_identity() returns text language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
    select concat_ws('/', (select system_identifier from pg_control_system()),
      (select oid from pg_database where datname = current_database()),
      (select oid from pg_class where relname = 'installation' and relnamespace = 'public'::regnamespace))
  $$;
insert into installation (identity) values (database_identity());

-- Whether messages may leave this database.
create function sending_is_open() returns boolean language sql stable security definer
  set search_path = public, pg_temp
  as $$ select identity = database_identity() from installation $$;

-- Mail of the mailbox provider that belongs to no property.
create table platform_messages (
  id uuid primary key,
  channel text not null,
  recipient text not null,
  sender text,
  subject text,
  text text,
  html text,
  headers jsonb not null default '{}',
  created_at timestamptz not null default now()
);
create index platform_messages_created on platform_messages (created_at, id);

grant select, insert, update, delete
  on properties, users, memberships, invitations, api_keys, api_key_uses, password_resets, ended_sessions, signing_keys,
    platform_messages
  to app_system;
grant select, update on directory_version, installation to app_system;
revoke execute on function database_identity(), sending_is_open() from public;
grant execute on function database_identity() to app_system;
grant execute on function sending_is_open() to app_system, app_property;

-- Users belong to the platform, and a property's role cannot read them. It may call these functions.

-- Whether an address belongs to a person who works in the property, or in all as a platform admin.
create function is_staff(address text) returns boolean language sql stable security definer
  set search_path = public, pg_temp
  as $$
    select exists (select from users u where u.email = address and u.is_active and (u.is_platform_admin or exists (
      select from memberships m where m.user_id = u.id and m.property_id = current_property())))
  $$;
revoke execute on function is_staff(text) from public;
grant execute on function is_staff(text) to app_property;

-- Whether a user works in the property, or in all as a platform admin.
create function is_user(person uuid) returns boolean language sql stable security definer
  set search_path = public, pg_temp
  as $$
    select exists (select from users u where u.id = person and (u.is_platform_admin or exists (
      select from memberships m where m.user_id = u.id and m.property_id = current_property())))
  $$;
revoke execute on function is_user(uuid) from public;
grant execute on function is_user(uuid) to app_property;

-- Whether a credential may still act in the property: a key that nobody has revoked, or a user with a role that acts.
create function still_acts(kind text, credential uuid) returns boolean language sql stable security definer
  set search_path = public, pg_temp
  as $$
    select case kind
      when 'api_key' then exists (
        select from api_keys k where k.id = credential and k.property_id = current_property() and k.is_active)
      when 'user' then exists (
        select from users u where u.id = credential and u.is_active and (u.is_platform_admin or exists (
          select from memberships m
          where m.user_id = u.id and m.property_id = current_property() and m.role in ('admin', 'manager'))))
      else true end
  $$;
revoke execute on function still_acts(text, uuid) from public;
grant execute on function still_acts(text, uuid) to app_property;

-- The users that are notified when something happens to the property.
create function property_managers() returns setof uuid language sql stable security definer
  set search_path = public, pg_temp
  as $$
    select u.id from memberships m join users u on u.id = m.user_id
    where m.property_id = current_property() and m.role in ('admin', 'manager') and u.is_active
  $$;
revoke execute on function property_managers() from public;
grant execute on function property_managers() to app_property;
