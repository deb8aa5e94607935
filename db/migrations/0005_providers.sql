-- Message providers of a property, what they may be given, and what they tell us.

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
  primary key (property_id, id)
);
create unique index message_providers_name on message_providers (property_id, name) where deleted_at is null;
create unique index message_providers_default on message_providers (property_id, channel)
  where is_default and deleted_at is null;
create index message_providers_created on message_providers (property_id, created_at, id);
-- A callback's address names the provider alone.
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

-- Notices that were taken in: a vendor repeats what it got no answer for.
create table provider_notices (
  property_id uuid not null,
  provider_id uuid not null,
  event_id text not null,
  received_at timestamptz not null default now(),
  primary key (property_id, provider_id, event_id),
  foreign key (property_id, provider_id) references message_providers
);
create index provider_notices_received on provider_notices (received_at);

alter table campaigns add column provider_id uuid;
alter table campaigns add foreign key (property_id, provider_id) references message_providers;

-- `repeats`: the provider may have it already, and knows it again; no other provider may be given it.
alter table campaign_sends add column provider_id uuid;
alter table campaign_sends add column repeats boolean not null default false;
alter table campaign_sends add column bounce_type text check (bounce_type in ('hard', 'soft'));
-- A test of this campaign's message: no send of the campaign, and in none of its figures.
alter table campaign_sends add column test_of uuid;

alter table properties add column hard_bounce_limit int not null default 1 check (hard_bounce_limit > 0);
alter table properties add column complaint_limit int not null default 1 check (complaint_limit > 0);
alter table properties add column soft_bounce_limit int not null default 3 check (soft_bounce_limit > 0);

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['message_providers', 'provider_usage', 'provider_notices']
  loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format('create policy tenant on %I to app_property using (property_id = (select current_property()))'
      ' with check (property_id = (select current_property()))', tenant_table);
    execute format('create policy reader on %I for select to app_reader using (true)', tenant_table);
    execute format('grant select, insert, update, delete on %I to app_property', tenant_table);
    execute format('grant select on %I to app_reader', tenant_table);
  end loop;
end $$;

create policy platform on message_providers for select to app_system using (true);
grant select (property_id, id, channel, kind, credentials, deleted_at) on message_providers to app_system;
create policy platform on provider_notices to app_system using (true) with check (true);
grant select, delete on provider_notices to app_system;

-- Whether an address is that of somebody who works in the property: users are the platform's.
create function is_staff(address text) returns boolean language sql stable security definer
  set search_path = public, pg_temp
  as $$
    select exists (select from users u join memberships m on m.user_id = u.id
      where m.property_id = current_property() and u.email = address and u.is_active)
  $$;
revoke execute on function is_staff(text) from public;
grant execute on function is_staff(text) to app_property;
