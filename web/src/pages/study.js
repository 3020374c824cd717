// A published study beside our runs of it.
import { evidence } from "../experiment/evidence.js";
import { effects, experiments, head, runs, tables, values } from "../experiment/study.js";

export const studyPage = {
  navigation: () => [["study", "Study"], ["effects", "Effects"], ["evidence", "Evidence"], ["values", "Values"], ["tables", "Tables"], ["runs", "Runs"], ["experiments", "Experiments"]],
  sections: (study) => [
    ["Study", () => head(study)],
    ["Published effects", () => effects(study.effects ?? [])],
    ["Evidence", () => evidence(study.evidence ?? [])],
    ["Published values", () => values(study.values ?? [])],
    ["Published tables", () => tables(study.tables ?? {})],
    ["Our runs", () => runs(study.runs ?? [])],
    ["Our experiments", () => experiments(study.experiments ?? [])],
  ],
  foot: () => "All numbers of this page: pyrometer study run … --resume --json",
};
