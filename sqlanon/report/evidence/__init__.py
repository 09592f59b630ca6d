"""Evidence packs: a release's papers, risk, utility, attacks and limits in a folder, for those who review it."""
