-- Messages on their way to players: sends, their outcomes, and the messages of the built-in providers.

-- A send is written once and changes its status twice. No index contains the status, and each page is left half
-- empty. So both changes stay in the page and touch no index.
create table campaign_sends (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  campaign_id uuid,
  player_id uuid,
  anon_id uuid,
  channel text not null,
  status text not null check (status in ('pending', 'deferred', 'sending', 'sent', 'delivered', 'bounced',
    'failed', 'skipped', 'cancelled', 'unknown')),
  skip_reasons text[] not null default '{}',
  address_hash bytea,
  address_masked text,
  provider text,
  provider_message_id text,
  dedupe_key bytea not null,
  claimed_by uuid,
  claimed_at timestamptz,
  scheduled_for timestamptz,
  attempts int not null default 0,
  error_code text,
  error_message text,
  sent_at timestamptz,
  delivered_at timestamptz,
  opened_at timestamptz,
  clicked_at timestamptz,
  bounced_at timestamptz,
  complained_at timestamptz,
  unsubscribed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  provider_id uuid,
  -- The provider may have the message already and recognizes a repeat; no other provider may get it.
  repeats boolean not null default false,
  bounce_type text check (bounce_type in ('hard', 'soft')),
  -- Set on a test of this campaign's message: it is no send of the campaign, and counts in none of its figures.
  test_of uuid,
  -- The number of paid parts of a text message.
  segments int,
  opens int not null default 0,
  clicks int not null default 0,
  -- The first one that looks human.
  first_human_open_at timestamptz,
  first_human_click_at timestamptz,
  converted_at timestamptz,
  redeemed_at timestamptz,
  variant_id text,
  -- The entry into a journey that the message belongs to.
  enrollment_id uuid,
  -- The journey and the node of that message.
  journey_id uuid,
  node_id text,
  -- Of a journey's message without an outcome. Null of all others, so that most updates change no index.
  is_open boolean generated always as (
    case when enrollment_id is not null and status in ('pending', 'deferred', 'sending', 'unknown') then true end) stored,
  primary key (property_id, id),
  unique (property_id, dedupe_key),
  foreign key (property_id, campaign_id) references campaigns,
  foreign key (property_id, player_id) references players
) with (fillfactor = 50);
create index campaign_sends_campaign on campaign_sends (property_id, campaign_id, id);
-- A journey's campaign has no end: its open sends are found among all that it has ever sent.
create index campaign_sends_open on campaign_sends (property_id, campaign_id, id) where is_open;
create index campaign_sends_player on campaign_sends (property_id, player_id);
create index campaign_sends_created on campaign_sends (property_id, created_at, id);
-- Of 1,000,000 sends a page of one journey read them all.
create index campaign_sends_journey on campaign_sends (property_id, journey_id, created_at, id)
  where journey_id is not null;
-- The sends of an address, whichever player had it then: vendors report by it, and rules count by it.
create index campaign_sends_address on campaign_sends (property_id, address_hash);
-- Sends of erased persons whose address another player has now: they are removed when that player is erased too.
create index campaign_sends_freed on campaign_sends (property_id, address_hash)
  where player_id is null and address_hash is not null;

-- The addresses that a campaign's links lead to: a link redirects to no other address. Where the address differs per
-- recipient, `url` is its template, and the link's signed token carries the address.
create table campaign_links (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  campaign_id uuid not null,
  url text not null,
  url_hash bytea not null,
  is_template boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, campaign_id, url_hash),
  foreign key (property_id, campaign_id) references campaigns
);

-- One row per clicked link of a message, however often it was clicked.
create table campaign_clicks (
  property_id uuid not null,
  send_id uuid not null,
  link_id uuid not null,
  campaign_id uuid not null,
  clicks int not null default 0,
  last_clicked_at timestamptz not null default now(),
  -- The first one that looks human.
  first_human_click_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, send_id, link_id),
  foreign key (property_id, send_id) references campaign_sends on delete cascade,
  foreign key (property_id, link_id) references campaign_links,
  foreign key (property_id, campaign_id) references campaigns
);
create index campaign_clicks_link on campaign_clicks (property_id, campaign_id, link_id);

-- Messages of the mailbox provider: one row per message, unique by its send. No foreign key: rows are written under
-- the property's role alone, and the check cost as much as an index.
create table mailbox_messages (
  property_id uuid not null,
  id uuid not null,
  channel text not null,
  recipient text not null,
  sender text,
  subject text,
  text text,
  html text,
  headers jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
) partition by range (id);
create index mailbox_messages_created on mailbox_messages (property_id, created_at, id);
create index mailbox_messages_recipient on mailbox_messages (property_id, recipient);

-- The branded inbox: messages of the channel loyaltyvip, one row per message.
create table inbox_messages (
  property_id uuid not null references properties,
  id uuid not null,
  player_id uuid not null,
  campaign_id uuid,
  journey_id uuid,
  title text not null,
  body text not null,
  category text,
  image_url text,
  cta_label text,
  cta_url text,
  priority int not null default 0,
  -- {type, value, code, expires_at}
  offer jsonb,
  pinned boolean not null default false,
  delivered_at timestamptz not null default now(),
  seen_at timestamptz,
  read_at timestamptz,
  clicked_at timestamptz,
  archived_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create index inbox_messages_player on inbox_messages (property_id, player_id, created_at);
create index inbox_messages_created on inbox_messages (property_id, created_at, id);

call isolate_tenants('campaign_sends', 'campaign_links', 'campaign_clicks', 'mailbox_messages', 'inbox_messages');
-- One job drops months, and counts the messages in them.
create policy platform on mailbox_messages for select to app_system using (true);
grant select (property_id, id, created_at) on mailbox_messages to app_system;
-- As campaigns: what still waits is counted.
create policy platform on campaign_sends for select to app_system using (true);
grant select (property_id, campaign_id, status, is_open) on campaign_sends to app_system;

-- A campaign is planned faster than autovacuum looks at its sends. For a property without statistics the planner
-- expects one row, and then all indexes look equally good. As analyze_members.
create function analyze_sends() returns void language plpgsql security definer
  set search_path = public, pg_temp
  as $$
begin
  perform analyze_shard('campaign_sends',
    'property_id, id, campaign_id, player_id, address_hash, status, claimed_by, scheduled_for');
exception when lock_not_available then null;
end $$;
revoke execute on function analyze_sends() from public;
grant execute on function analyze_sends() to app_property;
