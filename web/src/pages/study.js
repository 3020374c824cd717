// A published study beside our runs of it.
import { effects, experiments, head, runs, tables, values } from "../experiment/study.js";

export const studyPage = {
  navigation: () => [["study", "Study"], ["effects", "Effects"], ["values", "Values"], ["tables", "Tables"], ["runs", "Runs"], ["experiments", "Experiments"]],
  sections: (study) => [
    ["Study", () => head(study)],
    ["Published effects", () => effects(study.effects ?? [])],
    ["Published values", () => values(study.values ?? [])],
    ["Published tables", () => tables(study.tables ?? {})],
    ["Our runs", () => runs(study.runs ?? [])],
    ["Our experiments", () => experiments(study.experiments ?? [])],
  ],
  foot: () => "All numbers of this page: pyrometer study run … --resume --json",
};
