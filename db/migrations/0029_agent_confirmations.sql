-- What agents must confirm before it is done: the preview that they were given, for ten minutes and for one use.

create table agent_confirmations (
  -- The property; in operations that belong to none, who asks.
  property_id uuid not null,
  -- SHA-256 of the token, which nobody keeps.
  id bytea not null,
  tool text not null,
  arguments_hash bytea not null,
  -- The state that was shown, where an operation says of what: it is done in no other.
  bound text,
  used_at timestamptz,
  expires_at timestamptz not null default now() + interval '10 minutes',
  created_at timestamptz not null default now(),
  primary key (property_id, id)
);
create index agent_confirmations_expiry on agent_confirmations (expires_at);
alter table agent_confirmations enable row level security;
alter table agent_confirmations force row level security;
create policy tenant on agent_confirmations to app_property using (property_id = (select current_property()))
  with check (property_id = (select current_property()));
create policy reader on agent_confirmations for select to app_reader using (true);
create policy platform on agent_confirmations to app_system using (true) with check (true);
grant select, insert, update, delete on agent_confirmations to app_property, app_system;
grant select on agent_confirmations to app_reader;

alter table properties add column agent_confirmation text not null default 'on'
  check (agent_confirmation in ('on', 'off'));
alter table api_keys add column agent_confirmation text not null default 'on'
  check (agent_confirmation in ('on', 'off'));
