-- What a campaign is for: an event of the player's within some hours of the message.

alter table campaigns add column goal jsonb;
alter table campaigns add column stats_at timestamptz;
alter table campaign_sends add column converted_at timestamptz;
