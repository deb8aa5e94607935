-- Background work: the queue, the ticks of the schedule, and the erasure of persons from jobs.

create table queue (
  id uuid primary key,
  name text not null,
  property_id uuid,
  -- The unit of fair scheduling: a property, or the platform for its own jobs.
  tenant uuid not null generated always as (coalesce(property_id, '00000000-0000-0000-0000-000000000000')) stored,
  input jsonb not null,
  dedupe text,
  -- Jobs of one name with one merge key run one at a time. A claim takes one of them and removes the others.
  merge_key text,
  state text not null default 'ready' check (state in ('ready', 'running', 'dead')),
  run_at timestamptz not null default now(),
  attempts int not null default 0,
  max_attempts int not null,
  -- Attempts that the database itself interrupted. `attempts` does not count them.
  interruptions int not null default 0,
  -- The W3C traceparent of the request or job that put it here.
  trace text,
  lease uuid,
  leased_until timestamptz,
  last_error text,
  -- The data of persons was removed when the job failed for good: a retry finds records by their ids alone.
  is_impersonal boolean not null default false,
  created_at timestamptz not null default now()
);
create index queue_turns on queue (tenant, run_at, id) where state = 'ready';
create index queue_leased on queue (leased_until) where state = 'running';
create index queue_dead on queue (run_at) where state = 'dead';
create index queue_merged on queue (merge_key, name, state) where merge_key is not null;
create unique index queue_dedupe on queue (name, dedupe) where state = 'ready' and dedupe is not null;

-- A tick runs once, however many processes run the scheduler.
create table schedule_ticks (
  name text not null,
  tick timestamptz not null,
  primary key (name, tick)
);

grant select, insert, update, delete on queue, schedule_ticks to app_system;
grant insert on queue to app_property;
grant select (id, name, dedupe, merge_key, state, run_at), update (run_at) on queue to app_property;

-- Raises QL001 unless the lease is valid, and keeps it valid until the transaction ends. The key-share lock stops
-- another worker's claim, but not the heartbeat. It is called before a transaction takes its role.
create function hold_lease(job uuid, held uuid) returns void language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  perform from queue where id = job and lease = held for key share;
  if not found then
    raise exception 'another worker has this job' using errcode = 'QL001';
  end if;
end $$;
revoke execute on function hold_lease(uuid, uuid) from public;
grant execute on function hold_lease(uuid, uuid) to app_idle;

-- Answers a job's input without addresses and texts, also in a vendor's notices. A job that has failed for good is kept
-- for inspection and for a retry by ids, so its person may go. An erasure reaches existing jobs; this function covers a
-- vendor's notices that arrive after it.
create function impersonal(input jsonb) returns jsonb language sql immutable parallel safe as $$
  select case when jsonb_typeof(bare -> 'notices') = 'array' then jsonb_set(bare, '{notices}', (
      select coalesce(jsonb_agg(case jsonb_typeof(n) when 'object' then n - personal else n end order by place), '[]')
      from jsonb_array_elements(bare -> 'notices') with ordinality as a (n, place)))
    else bare end
  from (values ('{address, email, from, to, text, lines, message, userAgent, providerMessageId}'::text[])) f (personal)
    cross join lateral (select case jsonb_typeof(input) when 'object' then input - personal else input end) b (bare)
$$;

-- Whether a text names a person. `likes`, in lower case, quickly rule out most texts; the regular expression decides.
create function is_named(told text, likes text[], names text) returns boolean language sql immutable parallel safe
  as $$ select case when lower(told) like any (likes) then told ~* names else false end $$;

-- Removes a person from the queue: from jobs still to run, and from failed jobs. It acts on its own property alone,
-- because a tenant can neither read nor remove jobs. A job holds many vendor notices; those about other persons are
-- stored nowhere else, so they stay. A running job loses its notices about the person too, because it is kept if it
-- fails. Its worker has read them already, and holds no lock that this function waits for.
create function forget_jobs(likes text[], names text) returns int language sql security definer volatile
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
revoke execute on function forget_jobs(text[], text) from public;
grant execute on function forget_jobs(text[], text) to app_property;
