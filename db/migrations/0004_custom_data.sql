-- Player data that a property defines: its own fields, what players did, and what they shared.

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

-- One table and not one a month: an external_id is unique within the property, whatever its time, and an index
-- over partitions could not hold that without the time in it.
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
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create index social_shares_player on social_shares (property_id, player_id);
create index social_shares_created on social_shares (property_id, created_at, id);

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['custom_fields', 'player_events', 'social_shares'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format('create policy tenant on %I to app_property using (property_id = (select current_property()))'
      ' with check (property_id = (select current_property()))', tenant_table);
    execute format('create policy reader on %I for select to app_reader using (true)', tenant_table);
    execute format('grant select, insert, update, delete on %I to app_property', tenant_table);
    execute format('grant select on %I to app_reader', tenant_table);
  end loop;
end $$;
