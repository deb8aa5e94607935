-- Journeys: players who move from node to node by their state and the clock.

create table journeys (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  name text not null,
  description text,
  status text not null default 'draft' check (status in ('draft', 'active', 'paused', 'archived')),
  status_reason text,
  -- Its nodes and edges. Versions have their own copy.
  draft_definition jsonb not null,
  reentry jsonb not null,
  goal jsonb,
  exit_conditions jsonb,
  -- The fate of the people inside at the next publishing.
  on_publish text not null default 'finish_old'
    check (on_publish in ('finish_old', 'move_matching_nodes', 'exit_old')),
  -- A message that comes to closed hours waits for open ones, or is dropped.
  quiet_hours text not null default 'defer' check (quiet_hours in ('defer', 'skip')),
  priority int not null default 0,
  -- Of the draft. The end of the published version holds for all versions.
  ends_at timestamptz,
  -- The published version that people enter.
  current_version int,
  -- Of the record: each change of the draft counts it up.
  version int not null default 1,
  published_at timestamptz,
  paused_at timestamptz,
  archived_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
);
create unique index journeys_name on journeys (property_id, name) where deleted_at is null;
create index journeys_created on journeys (property_id, created_at, id);

-- A published definition with all that it referred to then. Nobody changes it.
create table journey_versions (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  journey_id uuid not null,
  version int not null,
  definition jsonb not null,
  definition_hash text not null,
  reentry jsonb not null,
  goal jsonb,
  exit_conditions jsonb,
  ends_at timestamptz,
  quiet_hours text not null check (quiet_hours in ('defer', 'skip')),
  -- The segments, custom fields and tiers that its conditions named, as they were.
  referred jsonb not null,
  -- The channels of its messages: a person who has refused all of them leaves.
  channels text[] not null default '{}',
  published_by_type text not null,
  published_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, journey_id, version),
  foreign key (property_id, journey_id) references journeys
);
create index journey_versions_created on journey_versions (property_id, created_at, id);

-- The state of a version's nodes that is not a person's.
create table journey_nodes (
  property_id uuid not null,
  journey_id uuid not null,
  version int not null,
  node text not null,
  -- Of a message: the campaign that carries it.
  campaign_id uuid,
  -- Of a wait or a message: when all who stand there were last judged, and how long that took.
  looked_at timestamptz,
  look_ms int not null default 0,
  primary key (property_id, journey_id, version, node),
  foreign key (property_id, journey_id) references journeys,
  foreign key (property_id, campaign_id) references campaigns
);

-- A rate limit, one for all versions of a journey: at most these people in these seconds, by the last version that has it.
create table journey_limits (
  property_id uuid not null,
  journey_id uuid not null,
  node text not null,
  most int not null,
  seconds int not null,
  -- The people who have passed within a day, condensed, and the pass from which the even pace counts on.
  book jsonb not null default '{"pacedAt": null, "passes": []}',
  primary key (property_id, journey_id, node),
  foreign key (property_id, journey_id) references journeys
);

-- The ways into active journeys and the waits in them that other records open, such as an event or a player's date.
-- Written at publishing.
create table journey_triggers (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  journey_id uuid not null,
  version int not null,
  node text not null,
  kind text not null
    check (kind in ('event', 'segment_enter', 'segment_exit', 'date_field', 'inbound_sms', 'game_play', 'wait')),
  -- The event's or date's name, or the id of the segment or game. An inbound text has none.
  name text,
  -- A jsonpath predicate over the event's properties, a text, or a play's outcome.
  filter text,
  -- The event's property whose value tells two live enrollments of one player apart.
  key_property text,
  reentry jsonb not null,
  -- Of a way in: nobody enters any more.
  ends_at timestamptz,
  primary key (property_id, id),
  foreign key (property_id, journey_id) references journeys
);
create index journey_triggers_name on journey_triggers (property_id, kind, name);

-- One row a person and entry. Its state is all that moves it: no signal does.
create table journey_enrollments (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  journey_id uuid not null,
  version int not null,
  player_id uuid,
  anon_id uuid,
  -- Tells apart what may run at once for one player, such as a booking. Empty: one at a time.
  entry_key text not null default '',
  -- The number of the player's entry with this key.
  entry int not null default 1,
  status text not null default 'active' check (status in ('active', 'completed', 'exited', 'failed')),
  node text not null,
  -- How often the person has come to this node.
  visit int not null default 1,
  -- ready: the node has not acted yet. waiting: until wake_at. in_line: until the rate limit lets the person through.
  -- sending: until the send has an outcome.
  phase text not null default 'ready' check (phase in ('ready', 'waiting', 'in_line', 'sending')),
  send_id uuid,
  entered_at timestamptz not null default now(),
  arrived_at timestamptz not null default now(),
  -- Null where no time moves the person on: in a line, with a message under way, or behind the journey's end.
  wake_at timestamptz default now(),
  ended_at timestamptz,
  exit_reason text,
  goal_reached_at timestamptz,
  context jsonb not null default '{}',
  -- The nodes so far, and the time of each arrival.
  path text[] not null default '{}',
  path_at timestamptz[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, journey_id) references journeys,
  foreign key (property_id, player_id) references players,
  -- Nobody waits without an end.
  check (status <> 'active' or phase in ('in_line', 'sending') or wake_at is not null)
) with (fillfactor = 70);
-- A person is in a journey once at a time, and each entry has its number once.
create unique index journey_enrollments_live on journey_enrollments (property_id, journey_id, player_id, entry_key)
  where status = 'active';
create unique index journey_enrollments_entry on journey_enrollments (property_id, journey_id, player_id, entry_key, entry);
create index journey_enrollments_due on journey_enrollments (property_id, journey_id, version, node, phase, wake_at, player_id)
  where status = 'active';
create index journey_enrollments_line on journey_enrollments (property_id, journey_id, node, arrived_at, player_id, id)
  where status = 'active' and phase = 'in_line';
create index journey_enrollments_player on journey_enrollments (property_id, player_id);
create index journey_enrollments_created on journey_enrollments (property_id, created_at, id);

-- How many people took each edge, written by the statement that moves them. `to_node` is empty where they left.
create table journey_counts (
  property_id uuid not null,
  journey_id uuid not null,
  version int not null,
  from_node text not null,
  -- The edge's label, or the reason for the exit.
  edge text not null,
  to_node text not null,
  -- The status that the enrollment got: active where it goes on.
  status text not null,
  people bigint not null default 0,
  primary key (property_id, journey_id, version, from_node, edge, to_node, status),
  foreign key (property_id, journey_id) references journeys
);

call isolate_tenants('journeys', 'journey_versions', 'journey_nodes', 'journey_limits', 'journey_triggers',
  'journey_enrollments', 'journey_counts');
revoke update, delete on journey_versions from app_property;

-- A message node of a version is a campaign without an end.
alter table campaigns
  add foreign key (property_id, journey_id) references journeys;

-- A journey whose job is gone gets another one, and the release of a restored database names those with people inside.
create policy platform on journeys for select to app_system using (true);
grant select (property_id, id, name, status, current_version, deleted_at) on journeys to app_system;
create policy platform on journey_enrollments for select to app_system using (true);
grant select (property_id, journey_id, status, wake_at) on journey_enrollments to app_system;

-- People come and move faster than autovacuum looks at them. As analyze_sends.
create function analyze_enrollments() returns void language plpgsql security definer
  set search_path = public, pg_temp
  as $$
begin
  perform analyze_shard('journey_enrollments',
    'property_id, id, journey_id, version, player_id, node, phase, status, wake_at');
exception when lock_not_available then null;
end $$;
revoke execute on function analyze_enrollments() from public;
grant execute on function analyze_enrollments() to app_property;
