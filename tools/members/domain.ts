import type { Domain } from "#runtime/operation/catalog.ts";
import acceptInvitation from "./accept-invitation.ts";
import inviteMember from "./invite-member.ts";
import listMembers from "./list-members.ts";
import removeMember from "./remove-member.ts";
import sendInvitation from "./send-invitation.job.ts";
import setMemberRole from "./set-member-role.ts";
import showInvitation from "./show-invitation.ts";
import withdrawInvitation from "./withdraw-invitation.ts";

/** The people who work in a property, whom its admins manage. */
export const members: Domain = {
  name: "members",
  title: "People of a property",
  tools: [
    acceptInvitation,
    inviteMember,
    listMembers,
    removeMember,
    setMemberRole,
    showInvitation,
    withdrawInvitation,
  ],
  jobs: [sendInvitation],
};
