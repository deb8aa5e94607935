-- A list is filled faster than autovacuum looks at it, and without statistics the planner takes it for one row: it
-- then compares each player with each member. Who counts a list looks at it first. Whoever finds another at it leaves it to that one.
create function analyze_members() returns void language plpgsql security definer
  set search_path = public, pg_temp
  as $$
begin
  if (select pg_relation_size(oid) / current_setting('block_size')::int > 2 * relpages + 10
      from pg_class where oid = 'segment_members'::regclass) then
    analyze segment_members (property_id, segment_id, player_id);
  end if;
exception when lock_not_available then null;
end $$;
revoke execute on function analyze_members() from public;
grant execute on function analyze_members() to app_property;
