-- Records of calls: their number, their answers, and the confirmations that agents still owe.

-- One row per bucket (an API key, a user, an address, an account) and window, counted by all processes together.
create unlogged table rate_windows (
  bucket text not null,
  window_start bigint not null,
  used int not null,
  primary key (bucket, window_start)
);
grant select, insert, update, delete on rate_windows to app_system;

-- property_id is the caller's scope: a property, or a user where the operation has no property. No foreign key, so
-- that a reservation locks only its own row.
create table idempotency_records (
  property_id uuid not null,
  key text not null,
  fingerprint bytea not null,
  operation text not null,
  status int,
  body text,
  expires_at timestamptz not null default now() + interval '24 hours',
  created_at timestamptz not null default now(),
  primary key (property_id, key)
);
create index idempotency_records_expiry on idempotency_records (expires_at);

-- The preview that an agent was shown. It is valid for ten minutes and for one use. property_id as above.
create table agent_confirmations (
  property_id uuid not null,
  -- SHA-256 of the token; the token itself is not stored.
  id bytea not null,
  tool text not null,
  arguments_hash bytea not null,
  -- The previewed state, where the operation names one: a call in another state is refused.
  bound text,
  used_at timestamptz,
  expires_at timestamptz not null default now() + interval '10 minutes',
  created_at timestamptz not null default now(),
  primary key (property_id, id)
);
create index agent_confirmations_expiry on agent_confirmations (expires_at);

call isolate_tenants('idempotency_records', 'agent_confirmations');
create policy platform on idempotency_records to app_system using (true) with check (true);
create policy platform on agent_confirmations to app_system using (true) with check (true);
grant select, insert, update, delete on idempotency_records, agent_confirmations to app_system;
