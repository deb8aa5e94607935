-- Sends of erased persons whose address another player has by now: found when that player is erased too.
create index campaign_sends_freed on campaign_sends (property_id, address_hash)
  where player_id is null and address_hash is not null;
