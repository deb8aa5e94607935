-- Message providers of a property: their credentials, limits and usage, and the vendors' notices.

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
  -- Calls at once.
  max_concurrent int check (max_concurrent > 0),
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
  -- The price of one message, or of one segment of a text message, as the operator agreed it; null where unknown.
  unit_price double precision check (unit_price >= 0),
  price_currency text check (price_currency ~ '^[A-Z]{3}$'),
  primary key (property_id, id),
  check (unit_price is null or price_currency is not null)
);
create unique index message_providers_name on message_providers (property_id, name) where deleted_at is null;
create unique index message_providers_default on message_providers (property_id, channel)
  where is_default and deleted_at is null;
create index message_providers_created on message_providers (property_id, created_at, id);
-- A callback's address names only the provider.
create index message_providers_callback on message_providers (id) where deleted_at is null;

-- Usage of a limited provider: a token bucket for the rate, a count for the day (UTC).
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

-- Processed notices: a vendor repeats each notice that got no answer.
create table provider_notices (
  property_id uuid not null,
  provider_id uuid not null,
  event_id text not null,
  received_at timestamptz not null default now(),
  -- Whether a request to stop has barred the address: a notice that only waits on the queue has not.
  in_force boolean not null default true,
  primary key (property_id, provider_id, event_id),
  foreign key (property_id, provider_id) references message_providers
);
create index provider_notices_received on provider_notices (received_at);

call isolate_tenants('message_providers', 'provider_usage', 'provider_notices');

create policy platform on message_providers for select to app_system using (true);
grant select (property_id, id, channel, kind, credentials, deleted_at) on message_providers to app_system;
create policy platform on provider_notices to app_system using (true) with check (true);
grant select, delete on provider_notices to app_system;
