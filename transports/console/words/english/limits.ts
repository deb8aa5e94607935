export const limits = {
  whatWaits:
    "Acts of agents and keys above a limit wait under Approvals, and people decide on them. Calls wait only where there are limits.",
  players: "Players in 24 hours",
  playersHint: "All calls together. 0: each call that reaches players waits. Empty: no limit.",
  cost: "Cost in 24 hours",
  costHint: "In the currency of the providers' prices. Empty: no limit.",
  fourEyes: "Four eyes",
  fourEyesOff: "One person is enough",
  fourEyesOn: "Nobody approves their own, and people wait too",
  growth: "Growth of an audience, in percent",
  growthHint: "A campaign pauses where its audience has grown by more since it was approved.",
  adminSetsThem: "An admin sets the limits above which people approve.",
  setThem: "Set the limits",
};
