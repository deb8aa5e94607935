-- Campaigns, and the templates of their messages.

create table templates (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  name text not null,
  channel text not null default 'email'
    check (channel in ('email', 'sms', 'voice', 'push', 'inbox', 'loyaltyvip')),
  engine text not null default 'liquid' check (engine in ('liquid', 'mjml')),
  subject text,
  -- Where there is MJML, the HTML is made from it.
  html text,
  text text,
  version int not null default 1,
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  mjml text,
  -- The recipient's fields that the template uses.
  variables text[],
  -- The turns of a call.
  voice_script jsonb,
  primary key (property_id, id)
);
create unique index templates_name on templates (property_id, name) where deleted_at is null;
create index templates_created on templates (property_id, created_at, id);

create table campaigns (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  name text not null,
  channel text not null default 'email'
    check (channel in ('email', 'sms', 'voice', 'push', 'inbox', 'loyaltyvip')),
  status text not null default 'draft'
    check (status in ('draft', 'scheduled', 'queued', 'sending', 'paused', 'sent', 'cancelled', 'failed')),
  template_id uuid,
  subject text,
  preheader text,
  from_name text,
  from_email text,
  reply_to text,
  body_html text,
  body_text text,
  segment_id uuid,
  exclude_segment_ids uuid[] not null default '{}',
  audience text check (audience in ('all')),
  conditions jsonb,
  logic text not null default 'and' check (logic in ('and', 'or')),
  scheduled_at timestamptz,
  is_transactional boolean not null default false,
  tags text[] not null default '{}',
  status_reason text,
  -- Progress of the plan: totals, and the position to continue from after a crash.
  plan_cursor uuid,
  planned_at timestamptz,
  audience_count int not null default 0,
  version int not null default 1,
  started_at timestamptz,
  finished_at timestamptz,
  archived_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  provider_id uuid,
  send_in_player_timezone boolean not null default false,
  throttle_per_minute int check (throttle_per_minute > 0),
  -- How long after the campaign's start its messages may still go out.
  expires_after_hours int not null default 72 check (expires_after_hours between 1 and 72),
  ignore_frequency_cap boolean not null default false,
  -- The start: before scheduled_at where the first players' clocks reach that time earlier.
  fires_at timestamptz,
  utm jsonb,
  -- The parts of a message that only the branded inbox shows.
  inbox jsonb,
  -- The game for which the link of each message brings a ticket.
  game_ticket jsonb,
  -- The turns of a call.
  voice_script jsonb,
  stats jsonb not null default '{}',
  -- The campaign's goal: an event of the player within some hours of the message.
  goal jsonb,
  stats_at timestamptz,
  -- Of a large campaign: its last count by the hour, and when that was.
  stats_hours jsonb,
  -- The share of the audience that gets no message, as a control group.
  holdout_percent int not null default 0 check (holdout_percent between 0 and 100),
  body_mjml text,
  -- More consecutive failures than this pause the campaign.
  max_send_errors int not null default 1000 check (max_send_errors > 0),
  -- Failures since the last sent message, over all jobs and processes.
  errors_in_row int not null default 0,
  -- The segments, custom fields and tiers of the audience when the first recipients were planned.
  planned_rules jsonb,
  -- Variants for a share of the audience, and the best one, which the rest gets.
  ab_test jsonb,
  ab_ends_at timestamptz,
  ab_result jsonb,
  -- Where part of the audience waits for the winner, unsent messages expire from this time on.
  expires_from timestamptz,
  -- The order in which a property's campaigns send at the same time.
  priority int not null default 0,
  -- The state that people have approved, with hashes of all of it. Each start compares them before it sends.
  approved jsonb,
  approved_state jsonb,
  -- The journey and its node whose messages these are. Such a campaign has no end of its own.
  journey_id uuid,
  journey_node text,
  -- Of a journey's messages. A message that comes to closed hours waits for open ones, or is dropped.
  quiet_hours text not null default 'defer' check (quiet_hours in ('defer', 'skip')),
  primary key (property_id, id),
  foreign key (property_id, template_id) references templates,
  foreign key (property_id, segment_id) references segments,
  foreign key (property_id, provider_id) references message_providers
);
create index campaigns_created on campaigns (property_id, created_at, id);
create index campaigns_journey on campaigns (property_id, journey_id) where journey_id is not null;

-- Recent claims of a throttled campaign: one row per claim, counted by all processes.
create table campaign_claims (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  campaign_id uuid not null,
  claimed_at timestamptz not null default clock_timestamp(),
  count int not null,
  primary key (property_id, id),
  foreign key (property_id, campaign_id) references campaigns
);
create index campaign_claims_campaign on campaign_claims (property_id, campaign_id, claimed_at);

-- Pauses of all sending of a property. The open one holds now.
create table sending_pauses (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  reason text,
  -- The campaigns that it has paused, which go on with its end.
  campaign_ids uuid[] not null default '{}',
  actor_type text not null check (actor_type in ('user', 'api_key', 'system')),
  actor_id uuid,
  is_open boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
);
create unique index sending_pauses_open on sending_pauses (property_id) where is_open;

call isolate_tenants('templates', 'campaigns', 'campaign_claims', 'sending_pauses');

-- An operator is shown what would be sent before sending is released. A campaign whose job is gone gets another one.
create policy platform on campaigns for select to app_system using (true);
grant select (property_id, id, name, channel, status, scheduled_at, fires_at, planned_at, deleted_at, journey_id)
  on campaigns to app_system;
