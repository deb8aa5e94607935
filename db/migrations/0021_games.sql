-- Games: prizes drawn on the server, the proof of each draw, tickets, and the links that players share.

create table games (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  name text not null,
  description text,
  type text not null check (type in ('spin_wheel', 'scratch_card', 'mystery_box', 'instant_win')),
  draw text not null check (draw in ('independent', 'deck')),
  status text not null default 'draft' check (status in ('draft', 'active', 'paused', 'ended', 'archived')),
  status_reason text,
  starts_at timestamptz,
  ends_at timestamptz,
  segment_id uuid,
  min_age int,
  -- States in which nobody may play, such as FL.
  void_in text[] not null default '{}',
  play_limits jsonb not null default '{}',
  -- The zone of a day's limits. Null: the property's.
  reset_timezone text,
  cost jsonb not null default '{"type": "free", "amount": 0}',
  out_of_stock text not null default 'no_prize' check (out_of_stock in ('no_prize', 'redistribute')),
  sponsor text,
  rules_url text,
  free_entry_url text,
  own_free_entry boolean not null default false,
  odds_published boolean not null default true,
  share_reward jsonb,
  -- SHA-256 of the master seed in hex, published at activation. The seed itself follows at the end.
  server_seed_hash text,
  master_seed text,
  -- The weights of the draw, and the rules, as they were activated.
  odds jsonb,
  rules_text text,
  approved jsonb,
  approved_state jsonb,
  activated_at timestamptz,
  paused_at timestamptz,
  ended_at timestamptz,
  archived_at timestamptz,
  version int not null default 1,
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, segment_id) references segments
);
create unique index games_name on games (property_id, name) where deleted_at is null;
create index games_created on games (property_id, created_at, id);

-- The master seed of a game, sealed until the game's end.
create table game_seeds (
  property_id uuid not null,
  game_id uuid not null,
  master text not null,
  primary key (property_id, game_id),
  foreign key (property_id, game_id) references games
);

-- Plays of a game, where it has a limit, and the next ticket of its deck.
create table game_counts (
  property_id uuid not null,
  game_id uuid not null,
  plays bigint not null default 0,
  next_ticket int not null default 0,
  primary key (property_id, game_id),
  foreign key (property_id, game_id) references games
) with (fillfactor = 50);

-- A player's plays of a game: a play reads and locks this one row, however many plays there are. Its only index is its
-- key, so that no plan made while the table was small reads more.
create table game_standings (
  property_id uuid not null,
  player_id uuid not null,
  game_id uuid not null,
  -- The number of the last play.
  nonce int not null default 0,
  -- Plays that count in the limits: voided ones do not, nor those by tickets of a free game.
  plays int not null default 0,
  -- Those of `day`, in the zone of the game's limits.
  today int not null default 0,
  day date,
  last_played_at timestamptz,
  -- Prizes of which a player may win so many: their ids, and the number of wins.
  wins jsonb not null default '{}',
  primary key (property_id, player_id, game_id),
  foreign key (property_id, player_id) references players,
  foreign key (property_id, game_id) references games
) with (fillfactor = 50);

create table code_pools (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
);
create unique index code_pools_name on code_pools (property_id, name);
create index code_pools_created on code_pools (property_id, created_at, id);

create table game_prizes (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  game_id uuid not null,
  label text not null,
  kind text not null check (kind in ('free_play', 'points', 'comp', 'coupon', 'merch', 'no_prize')),
  value double precision not null default 0 check (value >= 0),
  -- In a deck: the number of its tickets.
  weight int not null check (weight > 0),
  inventory_total int check (inventory_total >= 0),
  inventory_remaining int check (inventory_remaining >= 0),
  per_player_limit int,
  daily_limit int,
  code_pool_id uuid,
  slice_index int,
  redeem_within_days int,
  -- Wins of the last day on which it was won, where it has a daily limit.
  won_on date,
  won_today int not null default 0 check (won_today >= 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, game_id) references games,
  foreign key (property_id, code_pool_id) references code_pools
) with (fillfactor = 70);
create index game_prizes_game on game_prizes (property_id, game_id, created_at, id);

create table game_plays (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  game_id uuid not null,
  player_id uuid,
  anon_id uuid,
  prize_id uuid,
  outcome text not null check (outcome in ('win', 'lose')),
  status text not null default 'revealed'
    check (status in ('revealed', 'claimed', 'needs_tax_form', 'redeemed', 'expired', 'voided')),
  -- How the player came to the play: open, or the source of the ticket.
  entry text not null default 'open',
  ticket_id uuid,
  campaign_id uuid,
  journey_id uuid,
  -- The weights that were drawn from, where they were not the game's own.
  odds_snapshot jsonb,
  -- The prize that the number names. Another one than prize_id where that one was gone.
  drawn_prize_id uuid,
  -- SHA-256 of the play's own seed in hex.
  server_seed_hash text not null,
  client_seed text not null,
  nonce int not null,
  -- Of a merged player: the record that drew. Its id and the nonce give the seed.
  drawn_for uuid,
  roll int not null,
  -- Of a deck: the position of the ticket, from 1.
  deck_ticket int,
  value double precision not null default 0,
  code_hash bytea,
  code_sealed text,
  expires_at timestamptz,
  claimed_at timestamptz,
  redeemed_at timestamptz,
  redeemed_by text,
  redeemed_where text,
  void_reason text,
  played_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, game_id) references games,
  foreign key (property_id, player_id) references players,
  foreign key (property_id, prize_id) references game_prizes
);
create unique index game_plays_nonce on game_plays (property_id, game_id, player_id, nonce,
  coalesce(drawn_for, player_id));
create unique index game_plays_code on game_plays (property_id, code_hash) where code_hash is not null;
create index game_plays_player on game_plays (property_id, player_id, claimed_at) where outcome = 'win';
create index game_plays_campaign on game_plays (property_id, campaign_id, player_id) where redeemed_at is not null;
create index game_plays_prize on game_plays (property_id, prize_id, played_at) where prize_id is not null;
create index game_plays_open on game_plays (property_id, game_id, expires_at)
  where status in ('revealed', 'claimed', 'needs_tax_form') and expires_at is not null;
create index game_plays_created on game_plays (property_id, created_at, id);

-- One ticket, one play.
create table game_tickets (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  game_id uuid not null,
  player_id uuid not null,
  source text not null check (source in ('journey', 'campaign', 'share', 'free_entry', 'prize', 'manual')),
  -- Of the journey, campaign, share or play that gave it.
  source_id uuid,
  -- Two grants with one key give one ticket.
  key text not null,
  expires_at timestamptz,
  used_play_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, game_id) references games,
  foreign key (property_id, player_id) references players
);
create unique index game_tickets_key on game_tickets (property_id, game_id, player_id, key);
create index game_tickets_created on game_tickets (property_id, created_at, id);
-- The last one: while the table is small and its indexes seem equal, PostgreSQL takes the newest, and keeps that plan.
create index game_tickets_open on game_tickets (property_id, player_id, game_id, expires_at) where used_play_id is null;

-- Codes that a vendor or the casino's own system made. Each goes to one play.
create table prize_codes (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  pool_id uuid not null,
  code_hash bytea not null,
  code_sealed text not null,
  play_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, pool_id) references code_pools
);
create unique index prize_codes_hash on prize_codes (property_id, code_hash);
-- A pool that goes has no codes, used ones among them.
create index prize_codes_pool on prize_codes (property_id, pool_id);
create index prize_codes_free on prize_codes (property_id, pool_id, id) where play_id is null;

-- The law of games as rows that an operator edits.
create table game_laws (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  kind text not null check (kind in ('free_entry', 'registration', 'tax_form')),
  country text,
  state text,
  -- Of money: the total of the prizes, or a player's year.
  amount double precision,
  source_note text,
  effective_from date,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
);
create index game_laws_created on game_laws (property_id, created_at, id);

create function seed_game_laws(property uuid) returns void language plpgsql as $$
begin
  insert into game_laws (property_id, kind, country, state, amount, source_note, effective_from) values
    (property, 'free_entry', null, null, null,
      'Our rule for every place: a free way in with equal odds wherever a play is not free. Fla. Stat. 849.094(2)(e) forbids a fee or a proof of purchase as a condition. Read 2026-11; check with counsel.', null),
    (property, 'registration', 'US', 'NY', 5000,
      'N.Y. Gen. Bus. Law 369-e(1), (2): where all prizes are worth more than 5,000 dollars, a statement to the Secretary of State 30 days before, and a bond or a deposit. Read 2026-11; check with counsel.', null),
    (property, 'registration', 'US', 'FL', 5000,
      'Fla. Stat. 849.094(3), (4): where all prizes are worth more than 5,000 dollars, a filing with the Department of Agriculture and Consumer Services 7 days before, and a bond or a trust account. Read 2026-11; check with counsel.', null),
    (property, 'registration', 'US', 'RI', 500,
      'R.I. Gen. Laws 11-50-1: a retail establishment whose prizes are worth more than 500 dollars files with the Secretary of State. A repeal was proposed in 2024, whose outcome we do not know. Read 2026-11; check with counsel.', null),
    (property, 'tax_form', 'US', null, 600, '26 U.S.C. 6041(a), Form 1099-MISC: prizes of a calendar year up to 2025. Read 2026-11; check with counsel.', null),
    (property, 'tax_form', 'US', null, 2000,
      '26 U.S.C. 6041(a) as amended by Pub. L. 119-21, sec. 70433: prizes of a calendar year from 2026; the amount follows inflation from 2027, so put in a new row for each year. Read 2026-11; check with counsel.', '2026-01-01');
end $$;

-- A person who came by a shared link and played or joined: once a person.
create table share_referrals (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  share_id uuid not null,
  player_id uuid not null,
  referred_id uuid not null,
  rewarded boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, share_id) references social_shares,
  foreign key (property_id, player_id) references players,
  foreign key (property_id, referred_id) references players
);
create unique index share_referrals_person on share_referrals (property_id, referred_id);
create index share_referrals_player on share_referrals (property_id, player_id, created_at);
create index share_referrals_share on share_referrals (property_id, share_id);

-- The browsers in which a player has opened a page of theirs, so that nobody refers themselves. `updated_at`: seen last.
create table player_devices (
  property_id uuid not null,
  player_id uuid not null,
  -- HMAC-SHA256 of a random name that is in the browser's cookie alone.
  device_hash bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, player_id, device_hash),
  foreign key (property_id, player_id) references players
);
create index player_devices_seen on player_devices (property_id, updated_at);

call isolate_tenants('games', 'game_seeds', 'game_counts', 'game_standings', 'code_pools', 'game_prizes', 'game_plays',
  'game_tickets', 'prize_codes', 'game_laws', 'share_referrals', 'player_devices');

-- The platform gives a new property its rows of law.
create policy platform on game_laws for insert to app_system with check (true);
grant insert on game_laws to app_system;
