-- What jobs that have failed for good still know of persons: an erasure reaches all of it, and it runs out.

create index queue_dead on queue (run_at) where state = 'dead';

-- As before; and of a job that is being worked on the notices about the person go too, because it may fail, and is
-- kept with them then. Whoever works on it has read them already, and holds no lock that this one waits for.
create or replace function forget_jobs(likes text[], names text) returns int language sql security definer volatile
  set search_path = public, pg_temp as $$
  with told as materialized (
    select q.id, n.others, q.state = 'running' or jsonb_typeof(q.input -> 'notices') is not distinct from 'array'
      and not is_named((q.input - 'notices')::text, likes, names) and n.others <> '[]' as stays
    from queue q cross join lateral (
      select coalesce(jsonb_agg(e order by place) filter (where not is_named(e::text, likes, names)), '[]') as others
      from jsonb_path_query(q.input, '$.notices[*]') with ordinality as a (e, place)) n
    where q.property_id = current_property() and q.name <> 'finish_erasure'
      and (q.state <> 'running' or jsonb_typeof(q.input -> 'notices') = 'array')
      and is_named(q.input::text, likes, names)
    for no key update of q
  ), gone as (
    delete from queue using told where queue.id = told.id and not told.stays returning 1
  ), thinned as (
    update queue set input = jsonb_set(input, '{notices}', told.others), last_error = null
    from told where queue.id = told.id and told.stays
  ), hushed as (
    update queue set last_error = null
    where property_id = current_property() and state <> 'running' and is_named(last_error, likes, names)
      and id not in (select id from told)
  )
  select count(*)::int from gone
$$;
