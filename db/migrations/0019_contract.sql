-- Since when a dynamic segment's members are kept as rows, so that it can be told who enters and who exits.
alter table segments add column members_since timestamptz;
