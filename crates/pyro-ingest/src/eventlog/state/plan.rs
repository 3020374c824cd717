//! One version of a physical plan, as `SparkPlanInfo` gives it.

use super::symbols::{Symbol, Symbols};
use crate::eventlog::json::{Cursor, Malformed, Read, Text};

/// Plans deeper than this are refused: reading one nests as deep.
const DEEPEST: usize = 1000;

/// A node; its strings are ranges of [`Plan::text`], still escaped.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// Parent, by index.
    pub parent: Option<u32>,
    /// Depth, root 0.
    pub depth: u32,
    /// `nodeName`.
    pub name: Option<Symbol>,
    /// n of the enclosing `WholeStageCodegen (n)`.
    pub codegen_stage_id: Option<i32>,
    simple_string: Option<Range>,
    metadata: Option<Range>,
}

#[derive(Debug, Clone, Copy)]
struct Range {
    start: usize,
    len: usize,
    escaped: bool,
}

/// A metric of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Accumulator.
    pub accumulator_id: i64,
    /// Node; `None` where the log names the metric without its node.
    pub node: Option<u32>,
    /// Name.
    pub name: Symbol,
    /// Type.
    pub kind: Option<Symbol>,
}

/// A plan in memory that is used again for the next one.
#[derive(Debug, Default)]
pub struct Plan {
    /// Nodes in pre-order.
    pub nodes: Vec<Node>,
    /// Metrics of all nodes.
    pub metrics: Vec<Metric>,
    text: Vec<u8>,
}

impl Plan {
    /// `simpleString` of a node.
    pub fn simple_string(&self, node: &Node) -> Option<Text<'_>> {
        self.range(node.simple_string?)
    }

    /// `metadata` of a node: a JSON object.
    pub fn metadata(&self, node: &Node) -> Option<Text<'_>> {
        self.range(node.metadata?)
    }

    fn range(&self, range: Range) -> Option<Text<'_>> {
        Some(Text {
            raw: &self.text[range.start..range.start + range.len],
            escaped: range.escaped,
        })
    }

    fn keep(&mut self, raw: &[u8], escaped: bool) -> Option<Range> {
        let start = self.text.len();
        self.text.extend_from_slice(raw);
        Some(Range {
            start,
            len: raw.len(),
            escaped,
        })
    }

    /// Reads a `sparkPlanInfo` in place of what the plan held.
    pub fn read(&mut self, line: &mut Cursor<'_>, symbols: &mut Symbols) -> Read<()> {
        self.nodes.clear();
        self.metrics.clear();
        self.text.clear();
        self.node(line, symbols, None)?;
        self.enclose(symbols);
        Ok(())
    }

    fn node(
        &mut self,
        line: &mut Cursor<'_>,
        symbols: &mut Symbols,
        parent: Option<u32>,
    ) -> Read<()> {
        let depth = parent.map_or(0, |parent| self.nodes[parent as usize].depth + 1);
        if depth as usize > DEEPEST {
            return Err(Malformed("the plan is too deep"));
        }
        let index = self.nodes.len();
        self.nodes.push(Node {
            parent,
            depth,
            ..Node::default()
        });
        line.object(|line, key| {
            match key {
                b"nodeName" => self.nodes[index].name = Some(symbols.add(line.string()?)),
                b"simpleString" => {
                    if let Some(text) = line.optional_string()? {
                        self.nodes[index].simple_string = self.keep(text.raw, text.escaped);
                    }
                }
                b"children" => line.array(|line| self.node(line, symbols, Some(index as u32)))?,
                b"metadata" => {
                    let raw = line.raw()?;
                    if !matches!(raw, b"{}" | b"null") {
                        self.nodes[index].metadata = self.keep(raw, false);
                    }
                }
                b"metrics" => line.array(|line| {
                    let metric = metric(line, symbols, Some(index as u32))?;
                    self.metrics.push(metric);
                    Ok(())
                })?,
                _ => line.skip()?,
            }
            Ok(())
        })
    }

    /// Notes for every node the code generation cluster it is in.
    fn enclose(&mut self, symbols: &Symbols) {
        for index in 0..self.nodes.len() {
            let Some(name) = self.nodes[index].name else {
                continue;
            };
            let name = symbols.text(name);
            let of_parent = self.nodes[index]
                .parent
                .and_then(|parent| self.nodes[parent as usize].codegen_stage_id);
            self.nodes[index].codegen_stage_id = cluster(name).unwrap_or(of_parent);
        }
    }
}

/// `Some(Some(n))` where a cluster begins, `Some(None)` where one ends.
fn cluster(name: &str) -> Option<Option<i32>> {
    if let Some(number) = name.strip_prefix("WholeStageCodegen (") {
        return Some(
            number
                .strip_suffix(')')
                .and_then(|number| number.parse().ok()),
        );
    }
    let boundary = ["InputAdapter", "AdaptiveSparkPlan"].contains(&name)
        || name.contains("Subquery")
        || name.ends_with("QueryStage");
    boundary.then_some(None)
}

/// Reads one `SQLPlanMetric`.
#[inline(always)]
pub fn metric(line: &mut Cursor<'_>, symbols: &mut Symbols, node: Option<u32>) -> Read<Metric> {
    let start = line.position();
    if let Some((name, accumulator_id, kind)) = usual_metric(line) {
        return Ok(Metric {
            accumulator_id,
            node,
            name: symbols.add(name),
            kind: Some(symbols.add(kind)),
        });
    }
    line.rewind(start);
    let (mut name, mut accumulator_id, mut kind) = (None, None, None);
    line.object(|line, key| {
        match key {
            b"name" => name = Some(line.string()?),
            b"accumulatorId" => accumulator_id = Some(line.integer()?),
            b"metricType" => kind = line.optional_string()?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let accumulator_id = accumulator_id.ok_or(Malformed("a metric has no accumulator"))?;
    let name = symbols.add(name.ok_or(Malformed("a metric has no name"))?);
    Ok(Metric {
        accumulator_id,
        node,
        name,
        kind: kind.map(|kind| symbols.add(kind)),
    })
}

/// A metric in the one form that Spark writes.
#[inline(always)]
fn usual_metric<'a>(line: &mut Cursor<'a>) -> Option<(Text<'a>, i64, Text<'a>)> {
    let found = |yes: bool| yes.then_some(());
    found(line.literal(b"{\"name\":"))?;
    let name = line.string().ok()?;
    found(line.literal(b",\"accumulatorId\":"))?;
    let accumulator_id = line.digits()?;
    found(line.literal(b",\"metricType\":"))?;
    let kind = line.string().ok()?;
    found(line.literal(b"}"))?;
    Some((name, accumulator_id, kind))
}
