import type { Context } from "#runtime/operation/context.ts";
import { applyCallNews, type CallNotice } from "#tools/voice-calls/news.ts";
import { applyNotices, type NoticeProvider } from "./apply-notices.ts";

/** Writes a vendor's news of a call into the call and its send. */
export async function takeCallNews(
  context: Context,
  provider: NoticeProvider & { id: string },
  notice: CallNotice,
): Promise<void> {
  const notices = await applyCallNews(context, provider.id, notice);
  if (notices.length > 0) await applyNotices(context, provider, notices);
}
