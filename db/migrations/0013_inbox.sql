-- The branded inbox: what campaigns of the channel loyaltyvip put there, one row a message.
create table inbox_messages (
  property_id uuid not null references properties,
  id uuid not null,
  player_id uuid not null,
  campaign_id uuid,
  title text not null,
  body text not null,
  delivered_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create index inbox_messages_player on inbox_messages (property_id, player_id, created_at);
create index inbox_messages_created on inbox_messages (property_id, created_at, id);

alter table inbox_messages enable row level security;
alter table inbox_messages force row level security;
create policy tenant on inbox_messages to app_property
  using (property_id = (select current_property())) with check (property_id = (select current_property()));
create policy reader on inbox_messages for select to app_reader using (true);
grant select, insert, update, delete on inbox_messages to app_property;
grant select on inbox_messages to app_reader;
