-- A refused row is shown with its cells in the order of the file, which jsonb does not keep.
alter table import_errors alter column original_row type json;
