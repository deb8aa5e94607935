-- Accounts: passwords that are reset by mail, sessions that can be ended, and the platform's own mail.

-- Tokens issued before it are refused. A whole second, because a token's iat is one.
alter table users add column sessions_from timestamptz;

-- One row a user: a newer link ends the older one. Of the token only its SHA-256 is kept.
create table password_resets (
  user_id uuid primary key references users on delete cascade,
  token_hash bytea not null unique,
  expires_at timestamptz not null default now() + interval '30 minutes',
  created_at timestamptz not null default now()
);

-- What the mailbox provider was given that belongs to no property.
create table platform_messages (
  id uuid primary key,
  channel text not null,
  recipient text not null,
  sender text,
  subject text,
  text text,
  html text,
  headers jsonb not null default '{}',
  created_at timestamptz not null default now()
);
create index platform_messages_created on platform_messages (created_at, id);

grant select, insert, update, delete on password_resets, platform_messages to app_system;
