-- An erasure takes one person out of the queue, and leaves the others who stand in the same jobs.

drop function forget_jobs(uuid, text[]);

-- Whether a text names someone: `likes`, in lower case, rule most texts out quickly; the regular expression decides.
create function is_named(told text, likes text[], names text) returns boolean language sql immutable parallel safe
  as $$ select case when lower(told) like any (likes) then told ~* names else false end $$;

-- Removes what the queue would still do about a person, and what failed jobs have kept of them. A vendor's notices
-- come many to a job: those about others are nowhere else by then. Of its own property alone: a tenant can neither
-- read nor remove jobs.
create function forget_jobs(likes text[], names text) returns int language sql security definer volatile
  set search_path = public, pg_temp as $$
  with told as materialized (
    select q.id, n.others, jsonb_typeof(q.input -> 'notices') is not distinct from 'array'
      and not is_named((q.input - 'notices')::text, likes, names) and n.others <> '[]' as stays
    from queue q cross join lateral (
      select coalesce(jsonb_agg(e order by place) filter (where not is_named(e::text, likes, names)), '[]') as others
      from jsonb_path_query(q.input, '$.notices[*]') with ordinality as a (e, place)) n
    where q.property_id = current_property() and q.state <> 'running' and q.name <> 'finish_erasure'
      and is_named(q.input::text, likes, names)
    for update of q
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
revoke execute on function forget_jobs(text[], text) from public;
grant execute on function forget_jobs(text[], text) to app_property;
