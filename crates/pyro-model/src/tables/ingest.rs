// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
use crate::column::*;
use crate::table::builders;

builders! {
    #[doc = "Hosts whose streams a run has, where these are several. Times of all are read on the clock of the first, and process and thread numbers of another host with its number above bit 32 (docs/adr/0021-one-axis.md)."]
    HostsBuilder = "hosts" {
        #[doc = "Name, as its streams have it"]
        host: Str, null = false;
        #[doc = "0: its clock is the axis; others by name"]
        number: I32, null = false;
        #[doc = "axis; messages: aligned within bound_ns; wall: aligned by wall clocks, within no bound; unknown: its times are not read"]
        clock: Dict, null = false;
        #[doc = "Messages that bound its clock"]
        messages_count: I64, null = true;
        #[doc = "First of its records, on its own clock"]
        first_mono_ns: I64, null = true;
        #[doc = "Last of its records, on its own clock"]
        last_mono_ns: I64, null = true;
        #[doc = "No time between these is further off; 0 for the axis, null where nothing bounds it"]
        bound_ns: I64, null = true;
        #[doc = "Median of the bounds between these"]
        typical_bound_ns: I64, null = true;
        #[doc = "Least that it can have lost on the axis, in the mean"]
        drift_low_ppm: F64, null = true;
        #[doc = "Most that it can have lost"]
        drift_high_ppm: F64, null = true;
        #[doc = "What is added to times of its wall clock"]
        wall_offset_ns: I64, null = true;
        #[doc = "CPUs, as a JVM there saw them"]
        cpus_count: I64, null = true;
    }
    #[doc = "Names other than their host's under which streams were recorded, where an agent on the host says whose they are: a pod has the name of its own, and its node is the host."]
    HostNamesBuilder = "host_names" {
        #[doc = "Name, as the streams have it"]
        name: Str, null = false;
        #[doc = "Host that it stands for"]
        host: Str, null = false;
        #[doc = "What stands above bit 32 of its process and thread numbers"]
        number: I32, null = false;
        #[doc = "Name of the pod; null of a container that is in none"]
        pod: Str, null = true;
    }
    #[doc = "Lines that give times of other hosts on the axis: offset_ns + rate × (time − from_mono_ns) is added from each from_mono_ns to the next."]
    HostClocksBuilder = "host_clocks" {
        #[doc = "Host"]
        host: Str, null = false;
        #[doc = "Where the line begins, on the host's own clock; what is before the first is not known"]
        from_mono_ns: I64, null = false;
        #[doc = "What is added there"]
        offset_ns: I64, null = false;
        #[doc = "What the offset gains from there on, ns per ns"]
        rate: F64, null = false;
        #[doc = "The true time is not further off; null where nothing bounds it"]
        bound_ns: I64, null = true;
    }
    #[doc = "Doubts that reading the raw files raised."]
    IngestDoubtsBuilder = "ingest_doubts" {
        #[doc = "schema/doubts.toml"]
        code: Dict, null = false;
        #[doc = "info, warning or error"]
        severity: Dict, null = false;
        #[doc = "What and where: file, line, byte offset"]
        message: Str, null = false;
        #[doc = "File, relative to the run directory where it lies in it"]
        file: Str, null = true;
        #[doc = "First line concerned, from 1"]
        line: I64, null = true;
        #[doc = "First byte concerned, in the uncompressed stream"]
        byte_offset: I64, null = true;
        #[doc = "How many records or lines"]
        count: I64, null = false;
    }
}
