//! Blocks of a method.

use super::scope::Row;

/// How deep in braces each line stands, and where its block ends.
pub struct Blocks {
    depth: Vec<i64>,
    end: Vec<usize>,
}

impl Blocks {
    /// The blocks of a method.
    pub fn of(rows: &[Row<'_>]) -> Self {
        let (mut depth, mut end) = (Vec::new(), vec![rows.len(); rows.len()]);
        let (mut now, mut open) = (0_i64, Vec::<usize>::new());
        for (at, row) in rows.iter().enumerate() {
            let text = row.code.trim_start();
            let closing = text.len() - text.trim_start_matches([' ', '}']).len();
            let count = |text: &str, c| text.matches(c).count() as i64;
            now -= count(&text[..closing], '}');
            while let Some(last) = open.pop_if(|&mut last| depth[last] > now) {
                end[last] = at;
            }
            depth.push(now);
            open.push(at);
            now += count(&text[closing..], '{') - count(&text[closing..], '}');
        }
        Self { depth, end }
    }

    /// Whether a line stands in the block of a comment before it, and in no block inside that.
    pub fn beside(&self, comment: usize, line: usize) -> bool {
        self.depth[comment] == self.depth[line] && line < self.end[comment]
    }
}
