//! Colours of boxes: those of the report's page, distinguishable by any eye, under dark letters.

use crate::folded::frame_of;
use crate::frame::FrameKind;

/// What the colour of a box says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paint(u8);

/// Kinds of frames in the order of the legend, with their names there and their colours.
pub(super) const KINDS: [(FrameKind, &str, &str); 8] = [
    (FrameKind::C2, "compiled", "#489870"),
    (FrameKind::C1, "C1", "#90c0a0"),
    (FrameKind::Inlined, "inlined", "#98e8f8"),
    (FrameKind::Interpreted, "interpreted", "#e8e0a0"),
    (FrameKind::Cpp, "C++", "#b890f0"),
    (FrameKind::Native, "native", "#d07028"),
    (FrameKind::Kernel, "kernel", "#687880"),
    (FrameKind::Unknown, "", "#8f959b"),
];
/// Java of which the profile does not say how it was run.
const JAVA: u8 = KINDS.len() as u8;

impl Paint {
    /// How many there are.
    pub const COUNT: usize = KINDS.len() + 1;

    /// All of them, in the order of the legend.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// Place among all.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Of a frame by its name in folded text, and that name without annotation.
    pub fn of(name: &str) -> (Self, &str) {
        let frame = frame_of(name);
        let bare = match name
            .len()
            .checked_sub(4)
            .and_then(|at| name.split_at_checked(at))
        {
            Some((bare, "_[j]" | "_[1]" | "_[0]" | "_[i]" | "_[k]")) => bare,
            _ => name,
        };
        if frame.kind == FrameKind::Unknown && !frame.place.is_empty() {
            return (Self(JAVA), bare);
        }
        let at = KINDS.iter().position(|(kind, ..)| *kind == frame.kind);
        (Self(at.unwrap_or(KINDS.len() - 1) as u8), bare)
    }

    /// Name in the legend; none where nothing is known.
    pub fn label(self) -> Option<&'static str> {
        if self.0 == JAVA {
            return Some("Java");
        }
        Some(KINDS[self.index()].1).filter(|label| !label.is_empty())
    }

    /// As written in SVG.
    pub fn colour(self) -> &'static str {
        // Java is mostly compiled code.
        KINDS[if self.0 == JAVA { 0 } else { self.index() }].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_page() {
        let page = include_str!("../../../../web/src/ui/colours.js");
        for (kind, _, colour) in KINDS {
            let entry = format!("{}: \"{colour}\"", kind.name());
            assert!(page.contains(&entry), "{entry}");
        }
    }

    #[test]
    fn names_give_the_colour() {
        let read = |name| {
            let (paint, bare) = Paint::of(name);
            (paint.label(), bare)
        };
        assert_eq!(read("a.B.c_[1]"), (Some("C1"), "a.B.c"));
        assert_eq!(read("a.B.c"), (Some("Java"), "a.B.c"));
        assert_eq!(read("f_[k]"), (Some("kernel"), "f"));
        assert_eq!(read("é"), (None, "é"));
    }
}
