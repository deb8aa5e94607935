-- Which of a property's campaigns goes first where several send at once.

alter table campaigns add column priority int not null default 0;
