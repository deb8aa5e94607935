export const limits = {
  whatWaits:
    "What agents and keys do above a limit waits under Approvals, and people decide on it. Without limits nothing waits.",
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
