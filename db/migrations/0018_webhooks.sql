-- Webhooks: endpoints, their subscribed events, and each delivery.

-- One job at a time works on an endpoint (delivering_*). No delivery is tried while the endpoint rests.
create table webhook_endpoints (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  url text not null,
  events text[] not null,
  description text,
  is_active boolean not null default true,
  include_pii boolean not null default false,
  secret text not null,
  previous_secret text,
  previous_secret_until timestamptz,
  disabled_reason text,
  failing_since timestamptz,
  resting_until timestamptz,
  delivering_by uuid,
  delivering_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
);
create index webhook_endpoints_created on webhook_endpoints (property_id, created_at, id);

-- An event is written in the transaction that causes it, when an endpoint has subscribed to it. No foreign key to
-- properties: rows are written under the property's role alone, and the check cost as much as an index.
create table outbox (
  property_id uuid not null,
  id uuid not null,
  type text not null,
  data jsonb not null,
  occurred_at timestamptz not null default now(),
  primary key (property_id, id)
) partition by range (id);

-- The events of a transaction that an endpoint is to get: a row an endpoint, and not one an event. The endpoint's job
-- makes the deliveries of them, so that the writer of events does not wait for rows with five indexes each. No foreign
-- key to the endpoint: a writer would wait for its deletion, and then fail. The job removes the rows of one that is gone.
create table webhook_backlog (
  property_id uuid not null,
  id uuid not null,
  endpoint_id uuid not null,
  event_ids uuid[] not null,
  created_at timestamptz not null default now(),
  primary key (property_id, id)
);
create index webhook_backlog_endpoint on webhook_backlog (property_id, endpoint_id, id);

-- The id has the time of the event's id, so that both are of one month, and their months are dropped together. No
-- foreign key to the event: dropping a month would look for each of its events. None to the endpoint: its deletion would
-- wait for all of them, and the check would cost a third of each.
create table webhook_deliveries (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  event_id uuid not null,
  event_type text not null,
  endpoint_id uuid not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed', 'discarded')),
  attempt_count int not null default 0,
  attempts jsonb not null default '[]',
  next_attempt_at timestamptz default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
) partition by range (id);
create index webhook_deliveries_due on webhook_deliveries (property_id, endpoint_id, next_attempt_at, id)
  where status = 'pending';
create index webhook_deliveries_endpoint on webhook_deliveries (property_id, endpoint_id, created_at, id);
create index webhook_deliveries_created on webhook_deliveries (property_id, created_at, id);
create index webhook_deliveries_event on webhook_deliveries (property_id, event_id);

call isolate_tenants('webhook_endpoints', 'outbox', 'webhook_backlog', 'webhook_deliveries');

-- One job drops months: it looks for deliveries that are still to be made, and counts.
create policy platform on outbox for select to app_system using (true);
create policy platform on webhook_deliveries for select to app_system using (true);
create policy platform on webhook_backlog for select to app_system using (true);
grant select (property_id, id) on outbox, webhook_backlog to app_system;
grant select (property_id, id, status) on webhook_deliveries to app_system;

-- Operations over the platform's tables tell a property of what they do there.
create policy told on outbox for insert to app_system with check (true);
create policy told on webhook_backlog for insert to app_system with check (true);
grant insert on outbox, webhook_backlog to app_system;
grant select (property_id, id, is_active, events) on webhook_endpoints to app_system;
create policy platform on webhook_endpoints for select to app_system using (true);
