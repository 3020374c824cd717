//! Operators of a generated stage: the nodes of its tree, and the names of their variables.

use std::sync::LazyLock;

use regex::Regex;

/// An operator that comments of a source name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// As the comment has it.
    pub text: String,
    /// First word of the text.
    pub name: String,
    /// Which node with `*(n)` of the tree it is, in pre-order from 0.
    pub node_index: Option<i32>,
}

impl Operator {
    /// The operator of a comment.
    pub fn new(text: &str, tree: &[String]) -> Self {
        Self {
            text: text.to_owned(),
            name: first_word(text).to_owned(),
            node_index: node_index(text, tree),
        }
    }

    /// With what its variables begin, as `CodegenSupport.variablePrefix` of Spark has it.
    pub fn prefix(&self) -> String {
        match self.name.as_str() {
            "HashAggregate" => "hashAgg".to_owned(),
            "SortAggregate" => "sortAgg".to_owned(),
            "BroadcastHashJoin" => "bhj".to_owned(),
            "ShuffledHashJoin" => "shj".to_owned(),
            "SortMergeJoin" => "smj".to_owned(),
            "BroadcastNestedLoopJoin" => "bnlj".to_owned(),
            "InMemoryTableScan" => "memoryScan".to_owned(),
            "Scan" if self.text.starts_with("Scan ExistingRDD") => "rdd".to_owned(),
            "Scan" | "FileScan" => "scan".to_owned(),
            other => other.to_lowercase(),
        }
    }
}

/// A text with every column as `@`, whether an expression names it or its place.
pub fn unbound(text: &str) -> String {
    static COLUMN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?:input|columnVector)\[[^\]]*\](?:, \w+, \w+\])?|\w+#\d+L?")
            .expect("a pattern")
    });
    COLUMN.replace_all(text, "@").into_owned()
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

/// Texts of the tree's nodes that bear `*(stage)`, in pre-order.
pub fn nodes(tree: &str, stage: i32) -> Vec<String> {
    let mark = format!("*({stage}) ");
    let mut nodes: Vec<String> = Vec::new();
    // Whether the last node of the tree is one of ours: its text may have several lines.
    let mut ours = false;
    for line in tree.split('\n') {
        let text = line.trim_start_matches([' ', ':', '|', '+', '-']);
        if let Some(text) = text.strip_prefix(&mark) {
            nodes.push(text.to_owned());
            ours = true;
        } else if line.starts_with([' ', ':', '+', '*']) {
            ours = false;
        } else if let (true, Some(last)) = (ours, nodes.last_mut()) {
            last.push('\n');
            last.push_str(line);
        }
    }
    nodes
}

/// The only node that a comment's text can mean.
fn node_index(text: &str, tree: &[String]) -> Option<i32> {
    let only = |same: &dyn Fn(&str) -> bool| {
        let mut found = tree.iter().enumerate().filter(|(_, node)| same(node));
        let first = found.next();
        match found.next() {
            Some(_) => None,
            None => first.and_then(|(index, _)| i32::try_from(index).ok()),
        }
    };
    if tree.iter().any(|node| node == text) {
        return only(&|node| node == text);
    }
    // The tree shows aggregates with their output, comments without it.
    let head = text
        .strip_suffix(')')
        .filter(|_| text.contains("Aggregate("))?;
    only(&|node| {
        node.strip_prefix(head)
            .is_some_and(|rest| rest.starts_with(", output=["))
    })
}
