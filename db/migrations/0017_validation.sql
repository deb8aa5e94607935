-- Email validation: jobs, and a verdict per address.

create table validation_jobs (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  type text not null default 'email_validation' check (type in ('email_validation')),
  status text not null default 'queued' check (status in ('queued', 'processing', 'completed', 'failed')),
  params jsonb not null,
  status_url text not null,
  result_url text not null,
  total int,
  -- The last validated address. Not a count, because an erasure may remove addresses.
  judged_to int not null default 0,
  processed int not null default 0,
  succeeded int not null default 0,
  failed int not null default 0,
  skipped int not null default 0,
  updated_count int not null default 0,
  error text,
  summary jsonb,
  started_at timestamptz,
  completed_at timestamptz,
  expires_at timestamptz not null default now() + interval '30 days',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
);
create index validation_jobs_open on validation_jobs (created_at) where status in ('queued', 'processing');
create index validation_jobs_created on validation_jobs (property_id, created_at, id);

-- One row per address, from the start of the job; the verdict follows later.
create table validation_results (
  property_id uuid not null,
  job_id uuid not null,
  seq int not null,
  email text not null,
  player_id uuid,
  result text check (result in ('deliverable', 'risky', 'undeliverable', 'unknown')),
  risk text check (risk in ('low', 'medium', 'high', 'unknown')),
  reasons text[] not null default '{}',
  checks jsonb,
  did_you_mean text,
  primary key (property_id, job_id, seq),
  foreign key (property_id, job_id) references validation_jobs on delete cascade,
  foreign key (property_id, player_id) references players
);
create index validation_results_player on validation_results (property_id, player_id);
-- An erasure finds the person's address by it.
create index validation_results_email on validation_results (property_id, email);

call isolate_tenants('validation_jobs', 'validation_results');

-- One job removes the leftovers of all properties' validations.
create policy platform on validation_jobs to app_system using (true) with check (true);
create policy platform on validation_results to app_system using (true) with check (true);
grant select, update, delete on validation_jobs, validation_results to app_system;
