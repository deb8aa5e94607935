-- How a campaign stops by itself, and what it was planned by.

alter table campaigns
  -- More messages in a row than this that fail pause it.
  add column max_send_errors int not null default 1000 check (max_send_errors > 0),
  -- How many have failed since the last that was sent, over all jobs and processes.
  add column errors_in_row int not null default 0,
  -- The segments, custom fields and tiers of its audience as its first recipients were planned by them.
  add column planned_rules jsonb;
