-- A job that has failed for good is kept to be looked into, and not done again: it keeps nothing that tells who it was
-- about. An erasure reaches what is there; this is for what a vendor tells after the person was erased.

-- A job's input, and a vendor's notices in it, without addresses and words.
create function impersonal(input jsonb) returns jsonb language sql immutable parallel safe as $$
  select case when jsonb_typeof(bare -> 'notices') = 'array' then jsonb_set(bare, '{notices}', (
      select coalesce(jsonb_agg(case jsonb_typeof(n) when 'object' then n - personal else n end order by place), '[]')
      from jsonb_array_elements(bare -> 'notices') with ordinality as a (n, place)))
    else bare end
  from (values ('{address, email, from, to, text, message, userAgent, providerMessageId}'::text[])) f (personal)
    cross join lateral (select case jsonb_typeof(input) when 'object' then input - personal else input end) b (bare)
$$;

update queue set input = impersonal(input) where state = 'dead';
