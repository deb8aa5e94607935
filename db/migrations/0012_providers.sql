-- Message providers of a property: their credentials and limits, what they were given, and what they told us.

create table message_providers (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  channel text not null check (channel in ('email', 'sms', 'voice', 'push')),
  kind text not null,
  name text not null,
  from_address text,
  -- Sealed JSON.
  credentials text not null,
  rate_per_second double precision check (rate_per_second > 0),
  daily_limit int check (daily_limit > 0),
  allows_gaming boolean not null default false,
  is_default boolean not null default false,
  is_active boolean not null default true,
  priority int not null default 100,
  health text not null default 'unknown' check (health in ('unknown', 'ok', 'failing', 'refused')),
  last_error text,
  health_changed_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Of one message; of texts, of one segment. As the operator has agreed it; null where it is not said.
  unit_price double precision check (unit_price >= 0),
  price_currency text check (price_currency ~ '^[A-Z]{3}$'),
  primary key (property_id, id),
  check (unit_price is null or price_currency is not null)
);
create unique index message_providers_name on message_providers (property_id, name) where deleted_at is null;
create unique index message_providers_default on message_providers (property_id, channel)
  where is_default and deleted_at is null;
create index message_providers_created on message_providers (property_id, created_at, id);
-- The address of a callback names the provider alone.
create index message_providers_callback on message_providers (id) where deleted_at is null;

-- What a limited provider was given: a bucket of tokens for the rate, a count for the day (UTC).
create table provider_usage (
  property_id uuid not null,
  provider_id uuid not null,
  tokens double precision not null default 0,
  filled_at timestamptz not null default clock_timestamp(),
  day date not null default (clock_timestamp() at time zone 'utc')::date,
  used int not null default 0,
  primary key (property_id, provider_id),
  foreign key (property_id, provider_id) references message_providers
);

-- Notices that were taken in, because a vendor repeats those that it got no answer for.
create table provider_notices (
  property_id uuid not null,
  provider_id uuid not null,
  event_id text not null,
  received_at timestamptz not null default now(),
  primary key (property_id, provider_id, event_id),
  foreign key (property_id, provider_id) references message_providers
);
create index provider_notices_received on provider_notices (received_at);

call isolate_tenants('message_providers', 'provider_usage', 'provider_notices');

create policy platform on message_providers for select to app_system using (true);
grant select (property_id, id, channel, kind, credentials, deleted_at) on message_providers to app_system;
create policy platform on provider_notices to app_system using (true) with check (true);
grant select, delete on provider_notices to app_system;
