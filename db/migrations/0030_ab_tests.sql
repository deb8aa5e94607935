-- A campaign can try variants on a share of its audience, and send the rest the one that did best.

alter table campaigns add column ab_test jsonb;
alter table campaigns add column ab_ends_at timestamptz;
alter table campaigns add column ab_result jsonb;
-- Where part of the audience waits for the winner, what is not handed over grows stale from then on.
alter table campaigns add column expires_from timestamptz;
alter table campaign_sends add column variant_id text;
