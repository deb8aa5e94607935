-- Calls that wait for a person's approval, and the reach of those that needed none.

create table proposals (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  status text not null default 'waiting'
    check (status in ('waiting', 'approved', 'refused', 'withdrawn', 'expired', 'stale')),
  tool text not null,
  title text not null,
  input jsonb not null,
  -- The questions of the call: each part of its subject by its name with its hash, and the audience as shown.
  asked jsonb not null,
  sentences text[] not null,
  -- SHA-256 of all that a person is shown. An approval names it.
  shown_hash text not null,
  -- Null: unknown, or without a bound.
  players int,
  cost double precision,
  reasons text[] not null,
  proposed_by jsonb not null,
  -- The person behind the proposing credential, who approves nothing of their own under four eyes.
  proposed_for uuid,
  client text,
  decided_by uuid,
  -- As it was then: the person may leave the property.
  decided_by_email text,
  decided_at timestamptz,
  reason text,
  -- The answer of the approved call.
  result jsonb,
  expires_at timestamptz not null default now() + interval '72 hours',
  -- When the service has last compared it with what it is about.
  checked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
);
create index proposals_status on proposals (property_id, status, created_at, id);
create index proposals_created on proposals (property_id, created_at, id);

-- The reach of calls that went without approval. 24 hours of them count together, so that a large audience cannot go in parts.
create table unapproved_contacts (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  tool text not null,
  players int not null,
  cost double precision not null,
  created_at timestamptz not null default now(),
  primary key (property_id, id)
);
create index unapproved_contacts_created on unapproved_contacts (property_id, created_at);

call isolate_tenants('proposals', 'unapproved_contacts');

-- One job finds the properties in which proposals wait.
create policy platform on proposals for select to app_system using (true);
grant select (property_id, status) on proposals to app_system;
