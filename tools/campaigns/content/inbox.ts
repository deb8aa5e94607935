import { problemsOf } from "#tools/inbox/parts.ts";
import { type Compile, compiledBeside } from "./content.ts";
import { compileNotice } from "./notice.ts";

/** The message of a campaign for the branded inbox: the subject is its title. */
export const inboxContent: Compile<"inbox"> = async (context, campaign) => {
  const notice = await compiledBeside(problemsOf(campaign.inbox), compileNotice(context, campaign));
  if (Array.isArray(notice)) return notice;
  return {
    channel: "inbox",
    variables: notice.variables,
    sentBy: (_, message) => message,
    messageTo: (recipient) => {
      const { title, text, parts } = notice.render(recipient);
      const { send_id: id, address: to } = recipient;
      return { id, to, title, text, ...(campaign.inbox && { parts }) };
    },
  };
};
