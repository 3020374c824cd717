//! Sizes of parts of the heap.

use super::kinds::{Message, Space};
use super::size::size;

/// `Eden regions: 51->0(52)` of G1; `DefNew: 28903K(29504K)->2489K(29504K) Eden: …` of the
/// others, before JDK 14 without the first parenthesis.
pub(super) fn space<'a>(gc_id: i64, text: &str) -> Option<Message<'a>> {
    let (name, rest) = text.split_once(": ")?;
    let (space, in_regions) = match name {
        "Eden regions" => (Space::EdenRegions, true),
        "Survivor regions" => (Space::SurvivorRegions, true),
        "Old regions" => (Space::OldRegions, true),
        "Humongous regions" => (Space::HumongousRegions, true),
        "DefNew" | "PSYoungGen" | "ParNew" => (Space::Young, false),
        "Tenured" | "ParOldGen" | "PSOldGen" | "CMS" => (Space::Old, false),
        _ => return None,
    };
    let (before, rest) = rest.split_once("->")?;
    let amount = |text: &str| {
        let text = text.split('(').next()?.trim();
        if in_regions {
            text.parse::<u32>().ok().map(i64::from)
        } else {
            size(text)
        }
    };
    let sizes = (amount(before)?, amount(rest)?);
    Some(Message::Space {
        gc_id,
        space,
        sizes,
    })
}
