//! Boxes of a flame graph.

use std::cmp::Reverse;

use crate::folded::{Folded, Names};

use super::palette::Paint;

/// A box: a frame with all that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    /// Rank of the name; `None` for the box of all.
    pub name: Option<u32>,
    /// Callers below it.
    pub depth: u32,
    /// Weight of what comes before it.
    pub start: i64,
    /// The same, its own included.
    pub end: i64,
}

/// All boxes, from left to right, callers first.
pub(super) struct Graph {
    /// Boxes.
    pub boxes: Vec<Placed>,
    /// Greatest depth of a box.
    pub depth: u32,
    /// Sum of all weights.
    pub total: i64,
    names: Vec<(Vec<u8>, Paint)>,
}

impl Graph {
    /// Lays stacks out; boxes that take a smaller share than `least` are left out, and with them
    /// what they call.
    pub fn new(folded: &Folded, least: f64) -> Self {
        let (merged, paints) = without_annotations(folded);
        let sorted = merged.sorted();
        let total = positive(&merged).fold(0_i64, |sum, (_, weight)| sum.saturating_add(weight));
        let least = (least * total as f64).ceil() as i64;
        let mut boxes = vec![Placed {
            name: None,
            depth: 0,
            start: 0,
            end: total,
        }];
        let mut open: Vec<(u32, i64)> = Vec::new();
        let mut close = |open: &mut Vec<(u32, i64)>, kept: usize, end: i64| {
            while open.len() > kept {
                let depth = open.len() as u32;
                if let Some((name, start)) = open.pop()
                    && end - start >= least
                {
                    boxes.push(Placed {
                        name: Some(name),
                        depth,
                        start,
                        end,
                    });
                }
            }
        };
        let mut at = 0_i64;
        for (frames, weight) in sorted.iter().filter(|(_, weight)| *weight > 0) {
            let same = open
                .iter()
                .zip(frames)
                .take_while(|((name, _), frame)| name == *frame)
                .count();
            close(&mut open, same, at);
            open.extend(frames[same..].iter().map(|&frame| (frame, at)));
            at = at.saturating_add(weight);
        }
        close(&mut open, 0, at);
        boxes.sort_unstable_by_key(|placed| (placed.start, placed.depth));
        let names = (0..sorted.names_count() as u32).map(|rank| {
            let paint = paints[sorted.number_of(rank) as usize];
            (sorted.name(rank).to_vec(), paint)
        });
        Self {
            depth: boxes.iter().map(|placed| placed.depth).max().unwrap_or(0),
            names: names.collect(),
            boxes,
            total,
        }
    }

    /// Name of a box and its colour.
    pub fn name(&self, name: Option<u32>) -> (&[u8], Paint) {
        match name {
            Some(name) => {
                let (text, paint) = &self.names[name as usize];
                (text, *paint)
            }
            None => (b"all", Paint::of("").0),
        }
    }

    /// Colours that boxes have, in the order of the legend.
    pub fn paints(&self) -> Vec<Paint> {
        let mut used = [false; Paint::COUNT];
        for placed in self.boxes.iter().filter(|placed| placed.name.is_some()) {
            used[self.name(placed.name).1.index()] = true;
        }
        Paint::all().filter(|paint| used[paint.index()]).collect()
    }
}

fn positive(folded: &Folded) -> impl Iterator<Item = (&[u32], i64)> {
    folded.iter().filter(|(_, weight)| *weight > 0)
}

/// The same stacks by names without annotations, and of each name what most of its weight was:
/// a method that was interpreted first and compiled later is one box.
fn without_annotations(folded: &Folded) -> (Folded, Vec<Paint>) {
    let mut names = Names::default();
    let bare: Vec<(u32, Paint)> = (0..folded.names_count() as u32)
        .map(|name| {
            let text = String::from_utf8_lossy(folded.name_of(name));
            let (paint, bare) = Paint::of(&text);
            (names.number(bare.as_bytes()), paint)
        })
        .collect();
    let mut merged = Folded::default();
    for name in 0..names.len() as u32 {
        merged.name(names.get(name));
    }
    let mut weights = vec![[0_i64; Paint::COUNT]; names.len()];
    let mut stack = Vec::new();
    for (frames, weight) in positive(folded) {
        stack.clear();
        for &frame in frames {
            let (name, paint) = bare[frame as usize];
            let sum = &mut weights[name as usize][paint.index()];
            *sum = sum.saturating_add(weight);
            stack.push(name);
        }
        merged.add(&stack, weight);
    }
    let heaviest = weights.iter().map(|sums| {
        let first = |paint: &Paint| (sums[paint.index()], Reverse(paint.index()));
        Paint::all().max_by_key(first).expect("there are colours")
    });
    (merged, heaviest.collect())
}
