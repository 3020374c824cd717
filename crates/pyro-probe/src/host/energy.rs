//! Energy that the processor counts (RAPL), where the system shows it.

use std::path::Path;

use crate::output::Recorder;
use crate::parse::number;
use crate::sys::{Buffer, Descriptors, ProcFile, mono_ns};

/// Where the kernel shows energy zones.
pub const ZONES: &str = "/sys/class/powercap";
/// The one series of a zone.
pub const SERIES: &str = "energy_uj";

#[derive(Debug)]
struct Zone {
    scope: String,
    file: ProcFile,
    /// The counter starts again at this value.
    range_uj: i64,
    last_uj: i64,
    total_uj: i64,
}

/// The zones that can be read.
#[derive(Debug)]
pub struct Energy {
    zones: Vec<Zone>,
}

impl Energy {
    /// Looks for zones: packages, and cores, graphics and memory below them.
    pub fn open(folder: &str, descriptors: &Descriptors) -> Self {
        let text = |path: String| std::fs::read_to_string(path).ok();
        let name = |zone: &str| Some(text(format!("{folder}/{zone}/name"))?.trim().to_owned());
        let entries = std::fs::read_dir(Path::new(folder)).into_iter().flatten();
        let mut zones: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            // intel-rapl-mmio:0 counts the same package once more.
            .filter(|zone| zone.starts_with("intel-rapl:"))
            .collect();
        zones.sort();
        let zone = |zone: &String| {
            let energy = format!("{folder}/{zone}/energy_uj");
            let last_uj = number(text(energy.clone())?.trim())?;
            let parent = zone.rsplit_once(':').map_or("", |(parent, _)| parent);
            let scope = match name(parent) {
                Some(parent) => format!("energy/{parent}/{}", name(zone)?),
                None => format!("energy/{}", name(zone)?),
            };
            let range = text(format!("{folder}/{zone}/max_energy_range_uj"));
            Some(Zone {
                scope,
                file: ProcFile::new(&energy, descriptors),
                range_uj: range.and_then(|range| number(range.trim())).unwrap_or(0),
                last_uj,
                total_uj: last_uj,
            })
        };
        Self {
            zones: zones.iter().filter_map(zone).collect(),
        }
    }

    /// Zones that can be read.
    pub fn count(&self) -> usize {
        self.zones.len()
    }

    /// Reads every zone.
    pub fn pass(&mut self, recorder: &mut Recorder, buffer: &mut Buffer) {
        for zone in &mut self.zones {
            let text = zone.file.read(buffer).ok();
            let Some(now_uj) = text.and_then(|text| number(text.trim())) else {
                continue;
            };
            zone.total_uj += match now_uj - zone.last_uj {
                grown if grown < 0 => grown + zone.range_uj,
                grown => grown,
            };
            zone.last_uj = now_uj;
            let scope = recorder.scope(&zone.scope);
            recorder.record(mono_ns(), scope, SERIES, zone.total_uj);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_named_and_wraps_undone() {
        let folder = tempfile::tempdir().unwrap();
        let put = |zone: &str, file: &str, text: &str| {
            std::fs::create_dir_all(folder.path().join(zone)).unwrap();
            std::fs::write(folder.path().join(zone).join(file), text).unwrap();
        };
        // As an Intel server shows it; the memory-mapped twin and the control type have no part in it.
        for (zone, name) in [
            ("intel-rapl:0", "package-0"),
            ("intel-rapl:0:0", "core"),
            ("intel-rapl-mmio:0", "package-0"),
        ] {
            put(zone, "name", &format!("{name}\n"));
            put(zone, "energy_uj", "900\n");
            put(zone, "max_energy_range_uj", "1000\n");
        }
        put("intel-rapl", "enabled", "1\n");
        let descriptors = Descriptors::new(0);
        let mut energy = Energy::open(&folder.path().to_string_lossy(), &descriptors);
        let (mut recorder, mut buffer) = (Recorder::default(), Buffer::default());
        energy.pass(&mut recorder, &mut buffer);
        put("intel-rapl:0", "energy_uj", "100\n");
        energy.pass(&mut recorder, &mut buffer);
        let of = |scope: &str| {
            let index = recorder.scopes.iter().position(|known| known == scope)?;
            let rows = recorder.rows.iter().filter(|row| row.scope == index);
            Some(rows.map(|row| row.value).collect::<Vec<_>>())
        };
        assert_eq!(of("energy/package-0"), Some(vec![900, 1100]));
        assert_eq!(of("energy/package-0/core"), Some(vec![900]));
        assert_eq!(recorder.scopes.len(), 2);
    }

    #[test]
    fn no_zones_no_series() {
        let (mut recorder, mut buffer) = (Recorder::default(), Buffer::default());
        Energy::open("/nowhere", &Descriptors::new(0)).pass(&mut recorder, &mut buffer);
        assert!(recorder.rows.is_empty());
    }
}
