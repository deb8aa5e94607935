-- Who is to be told what became of a property: users are the platform's, and a property's work does not read them.
create function property_managers() returns setof uuid language sql stable security definer
  set search_path = public, pg_temp
  as $$
    select u.id from memberships m join users u on u.id = m.user_id
    where m.property_id = current_property() and m.role in ('admin', 'manager') and u.is_active
  $$;
revoke execute on function property_managers() from public;
grant execute on function property_managers() to app_property;
