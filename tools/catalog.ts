import { catalog } from "#runtime/operation/catalog.ts";
import { approvals } from "./approvals/domain.ts";
import auditLogs from "./audit/audit-logs.table.ts";
import listPlatformAuditLogs from "./audit/list-platform-audit-logs.ts";
import confirmPasswordReset from "./auth/confirm-password-reset.ts";
import login from "./auth/login.ts";
import logout from "./auth/logout.ts";
import me from "./auth/me.ts";
import requestPasswordReset from "./auth/request-password-reset.ts";
import rotateSigningKey from "./auth/rotate-signing-key.ts";
import sendPasswordReset from "./auth/send-password-reset.job.ts";
import { keepApprovals } from "./campaigns/approval/keep-approvals.ts";
import { watchAudiences } from "./campaigns/approval/watch-audiences.ts";
import campaignSends from "./campaigns/campaign-sends.table.ts";
import campaigns from "./campaigns/campaigns.table.ts";
import cancelCampaign from "./campaigns/cancel-campaign.ts";
import cancelSends from "./campaigns/cancel-sends.job.ts";
import chooseWinner from "./campaigns/choose-winner.job.ts";
import deliverCampaign from "./campaigns/delivery/deliver-campaign.job.ts";
import settleSends from "./campaigns/delivery/settle-sends.job.ts";
import duplicateCampaign from "./campaigns/duplicate-campaign.ts";
import fireCampaign from "./campaigns/fire-campaign.job.ts";
import holdAbandoningCampaign from "./campaigns/hold-abandoning-campaign.job.ts";
import getSendingState from "./campaigns/pause/get-sending-state.ts";
import pauseAllSending from "./campaigns/pause/pause-all-sending.ts";
import resumeAllSending from "./campaigns/pause/resume-all-sending.ts";
import pauseCampaign from "./campaigns/pause-campaign.ts";
import planCampaign from "./campaigns/plan-campaign.job.ts";
import segmentReach from "./campaigns/preflight/segment-reach.ts";
import preflightCampaign from "./campaigns/preflight-campaign.ts";
import previewCampaign from "./campaigns/preview/preview-campaign.ts";
import rehearseVoiceCall from "./campaigns/preview/rehearse-voice-call.ts";
import sendTest from "./campaigns/preview/send-test.job.ts";
import sendTestMessage from "./campaigns/preview/send-test-message.ts";
import resumeCampaign from "./campaigns/resume-campaign.ts";
import reviveCampaigns from "./campaigns/revive-campaigns.job.ts";
import scheduleCampaign from "./campaigns/schedule-campaign.ts";
import sendCampaign from "./campaigns/send-campaign.ts";
import sendSmsCampaign from "./campaigns/send-sms-campaign.ts";
import campaignHours from "./campaigns/stats/campaign-hours.ts";
import campaignStats from "./campaigns/stats/campaign-stats.ts";
import refreshStats from "./campaigns/stats/refresh-campaign-stats.job.ts";
import unscheduleCampaign from "./campaigns/unschedule-campaign.ts";
import { compliance } from "./compliance/domain.ts";
import listComplianceControls from "./compliance-controls/list-compliance-controls.ts";
import consentReceipt from "./consent/consent-receipt.ts";
import consentRecord from "./consent/consent-record.ts";
import consentRecords from "./consent/consent-records.table.ts";
import consentRevoke from "./consent/consent-revoke.ts";
import expireConsents from "./consent/expire-consents.job.ts";
import takeOverOptOuts from "./consent/take-over-opt-outs.job.ts";
import customFields from "./custom-fields/custom-fields.table.ts";
import explainEligibility from "./eligibility/explain-eligibility.ts";
import sendEvidence from "./eligibility/send-evidence.ts";
import createPlayerEvent from "./events/create-player-event.ts";
import playerEvents from "./events/player-events.table.ts";
import { gamePages } from "./game-pages/domain.ts";
import { games } from "./games/domain.ts";
import { imports } from "./imports/domain.ts";
import inboxMessages from "./inbox/inbox-messages.table.ts";
import markInboxMessages from "./inbox/mark-inbox-messages.ts";
import showInbox from "./inbox/show-inbox.ts";
import { journeys } from "./journeys/domain.ts";
import createApiKey from "./keys/create-api-key.ts";
import listApiKeys from "./keys/list-api-keys.ts";
import revokeApiKey from "./keys/revoke-api-key.ts";
import sealLedgers from "./ledgers/seal-ledgers.job.ts";
import verifyLedger from "./ledgers/verify-ledger.ts";
import verifyPlatformLedger from "./ledgers/verify-platform-ledger.ts";
import listPlatformMessages from "./mailbox/list-platform-messages.ts";
import mailboxMessages from "./mailbox/mailbox-messages.table.ts";
import { members } from "./members/domain.ts";
import forgetExpired from "./platform/forget-expired.job.ts";
import keepMonths from "./platform/keep-months.job.ts";
import listJobs from "./platform/list-jobs.ts";
import releaseSending from "./platform/release-sending.ts";
import retryJob from "./platform/retry-job.ts";
import tellMonthEnded from "./platform/tell-month-ended.job.ts";
import createPlayerLink from "./player-links/create-player-link.ts";
import createSubjectToken from "./player-links/create-subject-token.ts";
import findDuplicatePlayers from "./player-merge/find-duplicate-players.ts";
import exportPlayers from "./players/export-players.ts";
import players from "./players/players.table.ts";
import restorePlayer from "./players/restore-player.ts";
import setPlayerStatus from "./players/set-player-status.ts";
import getPreferences from "./preferences/get-preferences.ts";
import savePreferences from "./preferences/save-preferences.ts";
import unsubscribe from "./preferences/unsubscribe.ts";
import { privacy } from "./privacy/domain.ts";
import createProperty from "./properties/create-property.ts";
import getProperty from "./properties/get-property.ts";
import listProperties from "./properties/list-properties.ts";
import updateProperty from "./properties/update-property.ts";
import { providers } from "./providers/domain.ts";
import { push } from "./push/domain.ts";
import addSegmentMembers from "./segment-lists/add-segment-members.ts";
import removeSegmentMembers from "./segment-lists/remove-segment-members.ts";
import refreshSegment from "./segments/refresh-segment.job.ts";
import segmentMembers from "./segments/segment-members.table.ts";
import segmentPreview from "./segments/segment-preview.ts";
import segments from "./segments/segments.table.ts";
import createShareLink from "./shares/create-share-link.ts";
import forgetDevices from "./shares/forget-devices.job.ts";
import recordReferral from "./shares/record-referral.ts";
import socialShares from "./shares/social-shares.table.ts";
import inboundMessages from "./sms/inbound-messages.table.ts";
import listSmsKeywordsInForce from "./sms/list-sms-keywords-in-force.ts";
import readSmsText from "./sms/read-sms-text.ts";
import receiveSms from "./sms/receive-sms.ts";
import resolveSmsReview from "./sms/resolve-sms-review.ts";
import smsKeywords from "./sms/sms-keywords.table.ts";
import sendSmsReply from "./sms-replies/send-sms-reply.job.ts";
import templates from "./templates/templates.table.ts";
import getPropertyTheme from "./themes/get-property-theme.ts";
import setPropertyTheme from "./themes/set-property-theme.ts";
import createUser from "./users/create-user.ts";
import grantMembership from "./users/grant-membership.ts";
import listUsers from "./users/list-users.ts";
import revokeMembership from "./users/revoke-membership.ts";
import updateUser from "./users/update-user.ts";
import createValidationJob from "./validation/create-validation-job.ts";
import deleteValidationJob from "./validation/delete-validation-job.ts";
import exportValidationResults from "./validation/export-validation-results.ts";
import listValidationResults from "./validation/list-validation-results.ts";
import sweepValidations from "./validation/sweep-validations.job.ts";
import validateEmails from "./validation/validate-emails.job.ts";
import validationJobs from "./validation/validation-jobs.table.ts";
import { voice } from "./voice-calls/domain.ts";
import deliverWebhooks from "./webhooks/deliver-webhooks.job.ts";
import redeliverWebhook from "./webhooks/redeliver-webhook.ts";
import replayWebhooks from "./webhooks/replay-webhooks.ts";
import rotateWebhookSecret from "./webhooks/rotate-webhook-secret.ts";
import sendWebhookNotice from "./webhooks/send-webhook-notice.job.ts";
import testWebhook from "./webhooks/test-webhook.ts";
import webhookDeliveries from "./webhooks/webhook-deliveries.table.ts";
import webhookEndpoints from "./webhooks/webhook-endpoints.table.ts";

/** The table of contents: every operation, table and job of the service, by domain. */
export const CATALOG = catalog([
  {
    name: "players",
    title: "Players",
    tables: [customFields, playerEvents, players, socialShares],
    tools: [
      createPlayerEvent,
      createShareLink,
      exportPlayers,
      findDuplicatePlayers,
      recordReferral,
      restorePlayer,
      setPlayerStatus,
    ],
    jobs: [forgetDevices],
  },
  {
    name: "consent",
    title: "Consent",
    tables: [consentRecords],
    tools: [consentReceipt, consentRecord, consentRevoke],
    jobs: [expireConsents, takeOverOptOuts],
  },
  {
    ...compliance,
    tools: [...compliance.tools, explainEligibility, listComplianceControls, sendEvidence],
  },
  {
    name: "segments",
    title: "Segments",
    tables: [segmentMembers, segments],
    tools: [addSegmentMembers, removeSegmentMembers, segmentPreview],
    jobs: [refreshSegment],
  },
  {
    name: "campaigns",
    title: "Campaigns and templates",
    afterShaping: keepApprovals,
    watchMoving: watchAudiences,
    tables: [campaignSends, campaigns, templates],
    tools: [
      campaignHours,
      campaignStats,
      cancelCampaign,
      duplicateCampaign,
      getPreferences,
      getSendingState,
      pauseAllSending,
      pauseCampaign,
      preflightCampaign,
      previewCampaign,
      rehearseVoiceCall,
      resumeAllSending,
      resumeCampaign,
      savePreferences,
      scheduleCampaign,
      segmentReach,
      sendCampaign,
      sendSmsCampaign,
      sendTestMessage,
      unscheduleCampaign,
      unsubscribe,
    ],
    jobs: [
      cancelSends,
      chooseWinner,
      deliverCampaign,
      fireCampaign,
      holdAbandoningCampaign,
      planCampaign,
      refreshStats,
      reviveCampaigns,
      sendTest,
      settleSends,
    ],
  },
  approvals,
  journeys,
  games,
  gamePages,
  providers,
  {
    name: "inbox",
    title: "Branded inbox and players' pages",
    tables: [inboxMessages],
    tools: [
      createPlayerLink,
      createSubjectToken,
      getPropertyTheme,
      markInboxMessages,
      setPropertyTheme,
      showInbox,
    ],
  },
  {
    name: "sms",
    title: "Inbound text messages",
    tables: [inboundMessages, smsKeywords],
    tools: [listSmsKeywordsInForce, readSmsText, receiveSms, resolveSmsReview],
    jobs: [sendSmsReply],
  },
  push,
  voice,
  { name: "mailbox", title: "Mailbox", tables: [mailboxMessages], tools: [listPlatformMessages] },
  imports,
  {
    name: "validation",
    title: "Email validation",
    tables: [validationJobs],
    tools: [createValidationJob, deleteValidationJob, exportValidationResults, listValidationResults],
    jobs: [sweepValidations, validateEmails],
  },
  {
    name: "webhooks",
    title: "Webhooks",
    tables: [webhookDeliveries, webhookEndpoints],
    tools: [redeliverWebhook, replayWebhooks, rotateWebhookSecret, testWebhook],
    jobs: [deliverWebhooks, sendWebhookNotice],
  },
  privacy,
  {
    name: "properties",
    title: "Properties",
    tools: [createProperty, getProperty, listProperties, updateProperty],
  },
  {
    name: "access",
    title: "Sign-in, users and API keys",
    tools: [
      login,
      logout,
      me,
      requestPasswordReset,
      rotateSigningKey,
      confirmPasswordReset,
      createApiKey,
      listApiKeys,
      revokeApiKey,
      createUser,
      grantMembership,
      listUsers,
      revokeMembership,
      updateUser,
    ],
    jobs: [sendPasswordReset],
  },
  members,
  {
    name: "audit",
    title: "Audit",
    tables: [auditLogs],
    tools: [listPlatformAuditLogs, verifyLedger, verifyPlatformLedger],
    jobs: [sealLedgers],
  },
  {
    name: "platform",
    title: "Platform",
    tools: [listJobs, releaseSending, retryJob],
    jobs: [forgetExpired, keepMonths, tellMonthEnded],
  },
]);
