/** The roles of people in a property. An admin may do all, a manager all but change its people and limits. */
export const ROLES = ["admin", "manager", "analyst"] as const;
export type Role = (typeof ROLES)[number];

/** The roles that act, and hear of news in the property. The others read. */
export const ACTING_ROLES = ["admin", "manager"] as const satisfies readonly Role[];

export function acts(role: Role | null): boolean {
  return (ACTING_ROLES as readonly unknown[]).includes(role);
}

export interface Membership {
  property_id: string;
  role: Role;
}

/** The role of a user in a property: a platform admin is an admin everywhere. Null without one. */
export function roleIn(
  { isPlatformAdmin, memberships }: { isPlatformAdmin: boolean; memberships: readonly Membership[] },
  propertyId: string,
): Role | null {
  if (isPlatformAdmin) return "admin";
  return memberships.find((one) => one.property_id === propertyId)?.role ?? null;
}
