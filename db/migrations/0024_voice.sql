-- Phone calls: the law of calls as rows, and the calls with their transcripts.

-- The numbers that the law demands of a call. A row is never removed, and its amount is never looser than the law's own.
create table voice_laws (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  kind text not null check (kind in ('opt_out_within_seconds', 'least_ring_seconds', 'most_abandoned_percent',
    'abandoned_over_days', 'hours_between_calls', 'most_call_seconds', 'ai_disclosure')),
  amount double precision not null check (amount between 0 and 3600),
  -- The law's own amount, and the direction that is stricter. Null: no law, only our default.
  legal_amount double precision,
  stricter text not null default 'lower' check (stricter in ('lower', 'higher', 'equal')),
  source_note text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  check (legal_amount is null or case stricter when 'lower' then amount <= legal_amount
    when 'higher' then amount >= legal_amount else amount = legal_amount end)
);
create index voice_laws_created on voice_laws (property_id, created_at, id);

-- One row a call; one call a send. It is written before the vendor is asked for the call.
create table voice_calls (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  send_id uuid not null,
  campaign_id uuid,
  player_id uuid,
  anon_id uuid,
  provider text not null,
  provider_id uuid,
  provider_call_id text,
  -- Played by the built-in simulator: nobody was called.
  simulated boolean not null default false,
  persona text,
  status text not null check (status in ('queued', 'ringing', 'in_progress', 'ended', 'unknown')),
  outcome text check (outcome in ('completed', 'opted_out', 'hung_up', 'voicemail_left', 'voicemail_skipped',
    'no_answer', 'busy', 'failed', 'abandoned', 'barred', 'time_up', 'dropped')),
  answered_by text check (answered_by in ('human', 'machine')),
  -- The words for this recipient, and the engine's place in them.
  script jsonb,
  state jsonb,
  transcript jsonb not null default '[]',
  -- The call must be over by then.
  latest timestamptz,
  started_at timestamptz,
  -- When the way to stop the calls was said.
  disclosed_at timestamptz,
  -- When its vendor took our request to end it, because the person was barred in mid-call.
  stopped_at timestamptz,
  -- The requests to end it that its vendor did not take, and the time of the next one.
  stop_refusals int not null default 0,
  stop_again_at timestamptz,
  ended_at timestamptz,
  seconds int check (seconds >= 0),
  cost double precision check (cost >= 0),
  cost_currency text check (cost_currency ~ '^[A-Z]{3}$'),
  error_code text,
  error_message text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, send_id),
  foreign key (property_id, send_id) references campaign_sends,
  foreign key (property_id, campaign_id) references campaigns,
  foreign key (property_id, player_id) references players
);
create index voice_calls_created on voice_calls (property_id, created_at, id);
create index voice_calls_campaign on voice_calls (property_id, campaign_id, created_at);
-- Calls whose end is not known yet.
create index voice_calls_open on voice_calls (property_id, created_at) where status in ('queued', 'ringing', 'in_progress');
create index voice_calls_player on voice_calls (property_id, player_id);

call isolate_tenants('voice_laws', 'voice_calls');

-- The platform gives a new property its rows of law.
create policy platform on voice_laws for insert to app_system with check (true);
grant insert on voice_laws to app_system;

create function seed_voice_laws(property uuid) returns void language plpgsql as $$
begin
  insert into voice_laws (property_id, kind, amount, legal_amount, stricter, source_note) values
    (property, 'opt_out_within_seconds', 2, 2, 'lower',
      '47 CFR 64.1200(b)(3): the way to opt out within two seconds of the identification. Have counsel check.'),
    (property, 'least_ring_seconds', 20, 15, 'higher',
      '47 CFR 64.1200(a)(6): 15 seconds or four rings before an unanswered call ends. Have counsel check.'),
    (property, 'most_abandoned_percent', 3, 3, 'lower',
      '47 CFR 64.1200(a)(7): at most 3 percent of the answered calls of a campaign. Have counsel check.'),
    (property, 'abandoned_over_days', 30, 30, 'equal',
      '47 CFR 64.1200(a)(7): measured over 30 days for each campaign. Have counsel check.'),
    (property, 'hours_between_calls', 24, 24, 'higher',
      'State laws on telephone solicitation limit calls in 24 hours; this allows one to a number. Have counsel check.'),
    (property, 'most_call_seconds', 300, null, 'lower',
      'Our default; no law. The call must also end before the calling hours do.'),
    (property, 'ai_disclosure', 1, null, 'higher',
      'FCC 24-17 treats AI voices as artificial voices; several states want the disclosure. Have counsel check.');
end $$;
