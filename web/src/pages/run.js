// The report of a run.
import { cpuSection } from "../accounts/cpu.js";
import { hardwareSection } from "../accounts/hardware.js";
import { jvmSection } from "../accounts/jvm.js";
import { memorySection } from "../accounts/memory.js";
import { waitsSection } from "../accounts/waits.js";
import { findingsSection } from "../findings/section.js";
import { nextStep } from "../findings/words.js";
import { flameSection } from "../flame/section.js";
import { elapsedSection } from "../ledger/elapsed.js";
import { ledgerSection } from "../ledger/section.js";
import { absentLine, present } from "../run/absent.js";
import { environmentSection } from "../run/environment.js";
import { head, runVerdict } from "../run/head.js";
import { hostsSection, severalHosts } from "../run/hosts.js";
import { iterationsSection } from "../run/iterations.js";
import { queriesSection } from "../run/queries.js";
import { stagesSection } from "../run/stages.js";
import { plansSection } from "../sql/plans.js";
import { timelineSection } from "../timeline/section.js";
import { doubts, figures } from "../ui/summary.js";
import { makeSelection } from "../ui/time-selection.js";

const NAVIGATION = [["verdict", "Summary"], ["findings", "Findings"], ["doubts", "Doubts"], ["elapsed", "Elapsed"], ["ledger", "Ledger"], ["hosts", "Hosts"], ["cpu", "CPU"], ["resources", "Memory"], ["jvm", "JVM"], ["waits", "Waits"], ["hardware", "Counters"], ["queries", "Queries"], ["stages", "Stages"], ["plans", "Plans"], ["timeline", "Timeline"], ["flame", "Flame graph"], ["environment", "Environment"]];

export const runPage = {
  // Only a run of a suite is split into queries.
  navigation: (content) => NAVIGATION.filter(([id]) => present(content, id) && (id !== "queries" || content.characterisation) && (id !== "findings" || content.findings) && (id !== "hosts" || severalHosts(content.summary))),
  sections,
  foot(content) {
    const omitted = (content.cuts ?? []).filter((text) => !/^(stages|plans):/.test(text));
    return [`Pyrometer ${content.manifest?.pyrometer_version ?? ""}`, "all numbers of this page: pyrometer show RUN --json", omitted.length > 0 && `omitted here: ${omitted.join("; ")}`].filter(Boolean).join(" · ");
  },
};

function sections(content, columns) {
  const summary = content.summary ?? {};
  // Time can be selected where it is known when samples were taken.
  const selection = content.flame?.times && !content.flame.times.reason ? makeSelection() : null;
  const unless = (id, draw) => (present(content, id) ? draw() : null);
  return [
    ["Head", () => head(content)],
    ["Verdict", () => runVerdict(summary, nextStep(content.findings, summary.next_step))],
    ["What would make it faster", () => findingsSection(content.findings, (id) => present(content, id))],
    ["Key figures", () => [figures(content.figures), absentLine(content.absent)]],
    ["Doubts", () => doubts(summary.doubts)],
    ["What the application waited for", () => elapsedSection(summary)],
    ["Where the time went", () => ledgerSection(summary.ledger, content.ledger_walk)],
    ["Hosts", () => hostsSection(summary)],
    ["CPU", () => unless("cpu", () => cpuSection(summary))],
    ["Memory and code", () => unless("resources", () => memorySection(summary))],
    ["JVM", () => unless("jvm", () => jvmSection(summary))],
    ["Waits", () => unless("waits", () => waitsSection(summary, content.timeline, columns.timeline))],
    ["Counters", () => unless("hardware", () => hardwareSection(summary))],
    ["Iterations", () => (summary.window?.iterations?.length > 0 || summary.iterations?.length > 1) && iterationsSection(summary.iterations)],
    ["Queries", () => queriesSection(content.characterisation)],
    ["Stages", () => stagesSection(summary, content.cuts)],
    ["SQL plans", () => plansSection(summary, content.cuts)],
    ["Timeline", () => timelineSection(content.timeline, columns.timeline, selection)],
    ["Flame graph", () => unless("flame", () => flameSection(content, columns.flame, selection))],
    ["Environment", () => environmentSection(content)],
  ];
}
