-- MJML beside the HTML that is made of it, and what a template takes from its recipients.

alter table templates drop constraint templates_engine_check;
alter table templates add constraint templates_engine_check check (engine in ('liquid', 'mjml'));
alter table templates add column mjml text;
alter table templates add column variables text[];
alter table campaigns add column body_mjml text;
