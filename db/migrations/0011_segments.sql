-- Segments: lists of players, and rules that find them.

create table segments (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  name text not null,
  description text,
  type text not null default 'dynamic' check (type in ('static', 'dynamic')),
  logic text not null default 'and' check (logic in ('and', 'or')),
  conditions jsonb not null default '[]',
  groups jsonb not null default '[]',
  exclude_segment_ids uuid[] not null default '{}',
  member_count int,
  state text not null default 'ready' check (state in ('ready', 'computing', 'failed')),
  version int not null default 1,
  last_computed_at timestamptz,
  estimated boolean not null default false,
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The time since which a dynamic segment's members are stored as rows, so that entries and exits are known.
  members_since timestamptz,
  primary key (property_id, id)
);
create unique index segments_name on segments (property_id, name) where deleted_at is null;
create index segments_created on segments (property_id, created_at, id);

create table segment_members (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  segment_id uuid not null,
  player_id uuid not null,
  source text not null default 'manual' check (source in ('manual', 'import', 'rule', 'journey')),
  added_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, segment_id, player_id),
  foreign key (property_id, segment_id) references segments,
  foreign key (property_id, player_id) references players
);
create index segment_members_player on segment_members (property_id, player_id);
create index segment_members_created on segment_members (property_id, created_at, id);

call isolate_tenants('segments', 'segment_members');

-- A list grows faster than autovacuum looks at it. Without statistics the planner expects one row, and compares each
-- player with each member. Only the owner may analyze, hence this function. Of two at once, the second leaves the
-- work to the first.
create function analyze_members() returns void language plpgsql security definer
  set search_path = public, pg_temp
  as $$
begin
  if (select pg_relation_size(oid) / current_setting('block_size')::int > 2 * relpages + 10
      from pg_class where oid = shard_of('segment_members')) then
    perform analyze_shard('segment_members', 'property_id, segment_id, player_id');
  end if;
exception when lock_not_available then null;
end $$;
revoke execute on function analyze_members() from public;
grant execute on function analyze_members() to app_property;
