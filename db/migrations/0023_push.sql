-- Web push: the keys by which push services know a property, and the browsers that take its notifications.

-- The property's VAPID keys. A subscription is bound to the key that it was made with, so a retired one stays while a
-- browser needs it.
create table push_keys (
  property_id uuid not null references properties,
  public_key text not null,
  -- Sealed.
  private_key text not null,
  retired_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (property_id, public_key)
);
create unique index push_keys_current on push_keys (property_id) where retired_at is null;

-- One row a browser. A browser that two players use belongs to the one who subscribed last.
create table push_subscriptions (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  player_id uuid not null,
  endpoint text not null check (length(endpoint) <= 2048),
  p256dh text not null,
  auth text not null,
  -- The VAPID key that the browser subscribed with.
  public_key text not null,
  user_agent text,
  last_success_at timestamptz,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('gone', 'bad_keys', 'unsubscribed', 'replaced')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, endpoint),
  foreign key (property_id, player_id) references players,
  foreign key (property_id, public_key) references push_keys,
  check ((disabled_at is null) = (disabled_reason is null))
);
-- Of the disabled ones too: an erasure, an export and a merge look for all of a player's.
create index push_subscriptions_player on push_subscriptions (property_id, player_id);
create index push_subscriptions_created on push_subscriptions (property_id, created_at, id);

call isolate_tenants('push_keys', 'push_subscriptions');
