-- A campaign is planned faster than autovacuum looks at its sends, and where statistics are of an empty table the
-- planner reads all of them to find a batch. Whoever finds another at it leaves it to that one.
create function analyze_sends(planned int) returns void language plpgsql security definer
  set search_path = public, pg_temp
  as $$
begin
  if (select reltuples from pg_class where oid = 'campaign_sends'::regclass) < 2 * planned then
    analyze campaign_sends (property_id, id, campaign_id, player_id, address_hash, status, claimed_by, scheduled_for);
  end if;
exception when lock_not_available then null;
end $$;
revoke execute on function analyze_sends(int) from public;
grant execute on function analyze_sends(int) to app_property;
