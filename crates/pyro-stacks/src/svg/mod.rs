//! A flame graph as one SVG file: boxes with their share under the pointer, and where scripts run,
//! zoom by click and search. The same stacks give the same bytes.

mod layout;
mod palette;

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Deserialize;

use crate::folded::Folded;
use layout::{Graph, Placed};

/// How a flame graph is drawn.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SvgOptions {
    /// Heading.
    pub title: String,
    /// Unit of weights: `ns`, `bytes`, or a word to be put behind the number.
    pub unit: String,
    /// Width in pixels.
    pub width: u32,
    /// Boxes narrower than so many pixels are left out.
    pub min_width: f64,
    /// The root is at the top.
    pub icicle: bool,
}

impl Default for SvgOptions {
    fn default() -> Self {
        Self {
            title: "Flame graph".to_owned(),
            unit: "samples".to_owned(),
            width: 1200,
            min_width: 0.1,
            icicle: false,
        }
    }
}

/// Height of a box with the gap to the next.
const ROW: u32 = 17;
/// Room for heading and buttons, for legend and search, and at the sides.
const TOP: u32 = 40;
const BOTTOM: u32 = 34;
const SIDE: u32 = 10;
/// Width of a letter: 12 pixels of a monospaced font.
const LETTER: f64 = 7.25;

/// Draws stacks; returns the number of boxes drawn. Weights that are not positive are left out.
///
/// # Errors
/// If writing fails.
pub fn write(folded: &Folded, options: &SvgOptions, out: &mut impl Write) -> io::Result<u64> {
    let width = options.width.max(10 * SIDE);
    let inner = f64::from(width - 2 * SIDE);
    let graph = Graph::new(folded, options.min_width.max(0.0) / inner);
    let height = TOP + BOTTOM + (graph.depth + 1) * ROW;
    let mut page = Page {
        graph: &graph,
        options,
        scale: inner / graph.total.max(1) as f64,
        height,
        text: String::with_capacity(1 << 12),
    };
    page.head(width, height);
    for placed in &graph.boxes {
        page.draw(placed);
        if page.text.len() > 1 << 11 {
            out.write_all(page.text.as_bytes())?;
            page.text.clear();
        }
    }
    page.foot(width, height);
    out.write_all(page.text.as_bytes())?;
    Ok(graph.boxes.len() as u64)
}

struct Page<'a> {
    graph: &'a Graph,
    options: &'a SvgOptions,
    /// Pixels per weight.
    scale: f64,
    height: u32,
    text: String,
}

impl Page<'_> {
    fn push(&mut self, arguments: std::fmt::Arguments<'_>) {
        // A string takes all that is written to it.
        let _ = self.text.write_fmt(arguments);
    }

    fn head(&mut self, width: u32, height: u32) {
        let title = escaped(&self.options.title);
        self.push(format_args!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             data-side=\"{SIDE}\" data-letter=\"{LETTER}\">\n<title>{title}</title>\n\
             <style>{}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text class=\"h\" x=\"{}\" y=\"20\">{title}</text>\n\
             <text id=\"reset\" class=\"b\" x=\"{SIDE}\" y=\"20\" tabindex=\"0\" role=\"button\">Reset zoom</text>\n\
             <text id=\"search\" class=\"b\" x=\"{}\" y=\"20\" tabindex=\"0\" role=\"button\" text-anchor=\"end\">Search</text>\n\
             <g id=\"frames\">\n",
            include_str!("style.css").trim(),
            width / 2,
            width - SIDE,
        ));
    }

    fn draw(&mut self, placed: &Placed) {
        let x = f64::from(SIDE) + placed.start as f64 * self.scale;
        let width = (placed.end - placed.start) as f64 * self.scale;
        let y = if self.options.icicle {
            TOP + placed.depth * ROW
        } else {
            self.height - BOTTOM - (placed.depth + 1) * ROW
        };
        let (name, paint) = self.graph.name(placed.name);
        let name = String::from_utf8_lossy(name);
        let share = 100.0 * (placed.end - placed.start) as f64 / self.graph.total as f64;
        let value = amount(placed.end - placed.start, &self.options.unit);
        self.push(format_args!("<g class=\"f\"><title>{}\n", escaped(&name)));
        if let Some(label) = paint.label() {
            self.push(format_args!("{label}, "));
        }
        self.push(format_args!(
            "{value}, {share:.2} %</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" fill=\"{}\"/>",
            ROW - 1,
            paint.colour(),
        ));
        let label = fitted(&name, width);
        if !label.is_empty() {
            let (x, y) = (x + 3.0, y + 12);
            self.push(format_args!(
                "<text x=\"{x:.2}\" y=\"{y}\">{}</text>",
                escaped(&label)
            ));
        }
        self.text.push_str("</g>\n");
    }

    fn foot(&mut self, width: u32, height: u32) {
        self.text.push_str("</g>\n<g id=\"legend\">\n");
        let mut x = SIDE;
        let y = height - 12;
        for paint in self.graph.paints() {
            let label = paint.label().unwrap_or("unknown");
            self.push(format_args!(
                "<rect x=\"{x}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"{y}\">{label}</text>\n",
                y - 9,
                paint.colour(),
                x + 14,
            ));
            x += 14 + (label.len() as f64 * LETTER) as u32 + 16;
        }
        self.push(format_args!(
            "</g>\n<text id=\"matched\" x=\"{}\" y=\"{y}\" text-anchor=\"end\"> </text>\n\
             <script><![CDATA[\n{}]]></script>\n</svg>\n",
            width - SIDE,
            include_str!("page.js"),
        ));
    }
}

/// The name as far as it fits a box.
fn fitted(name: &str, width: f64) -> String {
    let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
    if letters < 3 {
        return String::new();
    }
    if name.chars().nth(letters).is_none() {
        return name.to_owned();
    }
    name.chars().take(letters - 2).chain("..".chars()).collect()
}

/// A weight as it is read.
fn amount(weight: i64, unit: &str) -> String {
    let number = weight as f64;
    match unit {
        "ns" if weight >= 1_000_000_000 => format!("{:.2} s", number / 1e9),
        "ns" if weight >= 1_000_000 => format!("{:.2} ms", number / 1e6),
        "ns" if weight >= 1_000 => format!("{:.2} µs", number / 1e3),
        "bytes" if weight >= 1 << 30 => format!("{:.2} GiB", number / f64::from(1 << 30)),
        "bytes" if weight >= 1 << 20 => format!("{:.2} MiB", number / f64::from(1 << 20)),
        "bytes" => format!("{:.2} KiB", number / 1024.0),
        word => format!("{} {}", grouped(weight), escaped(word)),
    }
}

/// `1,234,567`.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Text as XML takes it: control characters cannot be written in any way.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests;
