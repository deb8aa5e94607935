-- What bars an address for everyone who has it: one of its players may not be written to at all, or has refused.
-- Columns, because an update that leaves their values as they are touches no index.
alter table players
  add column bars_email boolean not null generated always as (deleted_at is null
    and (status not in ('active', 'inactive') or email_status = 'undeliverable'
      or coalesce(consents ->> 'email' = 'false', false))) stored,
  add column bars_sms boolean not null generated always as (deleted_at is null
    and (status not in ('active', 'inactive') or coalesce(consents ->> 'sms' = 'false', false))) stored,
  add column bars_voice boolean not null generated always as (deleted_at is null
    and (status not in ('active', 'inactive') or coalesce(consents ->> 'voice' = 'false', false))) stored;
create index players_bars_email on players (property_id, email_hash) where bars_email;
create index players_bars_phone on players (property_id, phone_hash) where bars_sms or bars_voice;
