//! Prints what the lines of generated sources are for: `codegen_lines FILE.ndjson [SOURCE]`.
//!
//! Without a number: of each generated stage, and of all together, the share of the lines with
//! code that have an operator and an expression. With one: that source, a line a row.
use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;

use pyro_stacks::codegen::{Generated, read};

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("FILE.ndjson");
    let wanted: Option<u64> = args.next().and_then(|n| n.parse().ok());
    let file = std::fs::File::open(&path).expect("a readable file");
    let mut total = [0_usize; 3];
    let mut seen = HashSet::new();
    for line in std::io::BufReader::new(file).lines() {
        let record: serde_json::Value =
            serde_json::from_str(&line.expect("text")).expect("a JSON object");
        let (Some(n), Some(body)) = (record["n"].as_u64(), record["body"].as_str()) else {
            continue;
        };
        let comments: BTreeMap<String, String> =
            serde_json::from_value(record["comments"].clone()).expect("comments");
        let source = read(body, &comments);
        if source.codegen_stage_id.is_none() || !seen.insert(body.to_owned()) {
            continue;
        }
        if wanted == Some(n) {
            print(&source);
        } else if wanted.is_none() {
            let counts = counts(&source);
            println!("{n}\t{}\t{counts:?}", source.class_name);
            total.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        }
    }
    if wanted.is_none() {
        let share = |n: usize| 100.0 * n as f64 / total[0].max(1) as f64;
        println!(
            "{} lines with code in methods of stages; an operator: {:.1} %; an expression: {:.1} %",
            total[0],
            share(total[1]),
            share(total[2])
        );
    }
}

/// Lines that can hold bytecode inside methods that rows go through, with an operator, with an
/// expression.
fn counts(source: &Generated) -> [usize; 3] {
    let lines: Vec<&str> = source.source.split('\n').map(str::trim).collect();
    let mut counts = [0; 3];
    let (mut depth, mut skipped) = (0_i32, false);
    for (at, line) in lines.iter().enumerate() {
        if depth == 1 && line.ends_with('{') {
            let class = "public GeneratedIterator";
            skipped = ["void init(", "_init_", class]
                .iter()
                .any(|name| line.contains(name));
        }
        let code = !line.is_empty()
            && !line.starts_with("//")
            && !line.starts_with('*')
            && line.chars().any(|c| c.is_alphanumeric());
        if code && depth > 1 && !skipped {
            counts[0] += 1;
            if let Ok(found) = source.lines.binary_search_by_key(&(at + 1), |l| l.line) {
                counts[1] += 1;
                counts[2] += usize::from(source.lines[found].expression.is_some());
            }
        }
        for c in line.chars().filter(|_| !line.starts_with("//")) {
            depth += i32::from(c == '{') - i32::from(c == '}');
        }
    }
    counts
}

fn print(source: &Generated) {
    for (at, text) in source.source.split('\n').enumerate() {
        let line = source.lines.iter().find(|line| line.line == at + 1);
        let operator = line.map_or_else(String::new, |line| {
            let operator = &source.operators[line.operator];
            let index = operator
                .node_index
                .map_or("-".to_owned(), |n| n.to_string());
            format!("{}@{index}", operator.name)
        });
        let expression = line.and_then(|line| line.expression);
        let expression = expression.map_or("", |e| source.expressions[e].as_str());
        let short: String = expression.chars().take(40).collect();
        println!("{:4} {operator:<24} {short:<40} | {text}", at + 1);
    }
}
