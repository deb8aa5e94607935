import type { Domain } from "#runtime/operation/catalog.ts";
import archiveJourney from "./archive-journey.ts";
import createJourneyFromRecipe from "./create-journey-from-recipe.ts";
import drawJourney from "./draw-journey.ts";
import createJourneyEnrollment from "./enrollment/create-journey-enrollment.ts";
import deleteJourneyEnrollment from "./enrollment/delete-journey-enrollment.ts";
import enrollPlayers from "./enrollment/enroll-players.ts";
import exitPlayers from "./enrollment/exit-players.ts";
import journeyEnrollments from "./enrollment/journey-enrollments.table.ts";
import enterJourney from "./enter-journey.job.ts";
import explainEnrollment from "./explain-enrollment.ts";
import forecastSending from "./forecast-sending.ts";
import journeyReport from "./journey-report.ts";
import journeyVersions from "./journey-versions.table.ts";
import journeysTable from "./journeys.table.ts";
import pauseJourney from "./pause-journey.ts";
import previewJourneyMessage from "./preview-journey-message.ts";
import publishJourney from "./publish-journey.ts";
import { askAboutEntries, watchMoves } from "./publishing/entry-segments.ts";
import resumeJourney from "./resume-journey.ts";
import simulateJourney from "./simulate-journey.ts";
import stepJourney from "./step-journey.job.ts";
import sweepJourneys from "./sweep-journeys.job.ts";
import validateJourney from "./validate-journey.ts";
import verifyJourney from "./verify-journey.ts";

/** The journeys in the table of contents. */
export const journeys: Domain = {
  name: "journeys",
  title: "Journeys",
  afterShaping: askAboutEntries,
  watchMoving: watchMoves,
  tables: [journeyEnrollments, journeyVersions, journeysTable],
  tools: [
    archiveJourney,
    createJourneyEnrollment,
    createJourneyFromRecipe,
    deleteJourneyEnrollment,
    drawJourney,
    enrollPlayers,
    exitPlayers,
    explainEnrollment,
    forecastSending,
    journeyReport,
    pauseJourney,
    previewJourneyMessage,
    publishJourney,
    resumeJourney,
    simulateJourney,
    validateJourney,
    verifyJourney,
  ],
  jobs: [enterJourney, stepJourney, sweepJourneys],
};
