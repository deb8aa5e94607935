-- The offers of a campaign that recipients have redeemed.

alter table campaign_sends add column redeemed_at timestamptz;

create index game_plays_campaign on game_plays (property_id, campaign_id, player_id) where redeemed_at is not null;
