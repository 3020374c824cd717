//! Which events of which PMUs count the traffic of memory and links, and what a count is worth.

/// Bytes read from memory.
pub const READ: &str = "memory_read_bytes";
/// Bytes written to memory.
const WRITTEN: &str = "memory_written_bytes";
/// Both, where they are not distinguished.
pub const BOTH: &str = "memory_bytes";
/// Bytes that a link to another package sent.
const SENT: &str = "link_sent_bytes";
/// Bytes read from, and written to, memory of another package.
const REMOTE_READ: &str = "remote_read_bytes";
const REMOTE_WRITTEN: &str = "remote_written_bytes";

/// How a PMU counts traffic.
pub struct Traffic {
    /// What the names of its devices begin with.
    pub device: &'static str,
    /// Its events.
    pub event: Counted,
    /// Name of the figure.
    pub measure: &'static str,
    /// Bytes of a count, where the PMU does not say.
    pub bytes: f64,
    /// The link has a row of its own.
    pub per_device: bool,
    /// The CPU on which its devices are opened says nothing of the memory that they count.
    pub of_host: bool,
}

/// What counts.
pub enum Counted {
    /// Events that a PMU names itself; `*` at the end: all that begin so.
    Named(&'static str),
    /// An event string.
    Terms(&'static str),
}
use Counted::{Named, Terms};

const fn by_node(
    device: &'static str,
    event: Counted,
    measure: &'static str,
    bytes: f64,
) -> Traffic {
    Traffic {
        device,
        event,
        measure,
        bytes,
        per_device: false,
        of_host: false,
    }
}

/// Line of a cache: what a CAS command moves on DDR4 and DDR5.
pub const LINE: f64 = 64.0;
/// Nine flits carry a line's 64 bytes (Intel, Uncore Performance Monitoring, UPI; perf's metric
/// `upi_data_transmit_bw`).
const FLIT: f64 = 64.0 / 9.0;

/// Event names and worths: the kernel's drivers (`arch/x86/events/intel/uncore_snbep.c`,
/// `uncore_snb.c`, `arch/x86/events/amd/uncore.c`, `drivers/perf/`) and perf's event files
/// (`amdzen1..3/data-fabric.json`, `amdzen4/memory-controller.json`, `power9/nest_metrics.json`).
pub const TRAFFIC: [Traffic; 17] = [
    by_node("uncore_imc", Named("cas_count_read*"), READ, LINE),
    by_node("uncore_imc", Named("cas_count_write*"), WRITTEN, LINE),
    by_node("uncore_imc", Named("data_read*"), READ, LINE),
    by_node("uncore_imc", Named("data_write*"), WRITTEN, LINE),
    by_node("amd_umc", Terms("event=0x0a,rdwrmask=0x1"), READ, LINE),
    by_node("amd_umc", Terms("event=0x0a,rdwrmask=0x2"), WRITTEN, LINE),
    by_node("hisi_sccl", Named("flux_rd"), READ, 32.0),
    by_node("hisi_sccl", Named("flux_wr"), WRITTEN, 32.0),
    by_node("nvidia_scf_pmu", Named("cmem_rd_data"), READ, 32.0),
    by_node("nvidia_scf_pmu", Named("cmem_wr_total_bytes"), WRITTEN, 1.0),
    by_node(
        "nvidia_scf_pmu",
        Named("remote_socket_rd_data"),
        REMOTE_READ,
        32.0,
    ),
    by_node(
        "nvidia_scf_pmu",
        Named("remote_socket_wr_total_bytes"),
        REMOTE_WRITTEN,
        1.0,
    ),
    by_node("nest_mcs", Named("PM_MCS01_128B_RD_DISP_PORT*"), READ, LINE),
    by_node("nest_mcs", Named("PM_MCS23_128B_RD_DISP_PORT*"), READ, LINE),
    by_node(
        "nest_mcs",
        Named("PM_MCS01_128B_WR_DISP_PORT*"),
        WRITTEN,
        LINE,
    ),
    by_node(
        "nest_mcs",
        Named("PM_MCS23_128B_WR_DISP_PORT*"),
        WRITTEN,
        LINE,
    ),
    Traffic {
        device: "uncore_upi",
        event: Terms("event=0x02,umask=0x0f"),
        measure: SENT,
        bytes: FLIT,
        per_device: true,
        of_host: false,
    },
];

/// Counters of Arm's meshes and controllers, reads and writes together: the first that is there, and
/// only where nothing nearer to the memory counts, since two of them would count a line twice. Requests
/// of home nodes to memory (`drivers/perf/arm-cmn.c`, perf's `arm/cmn/sys/cmn.json`), and commands of
/// controllers that the driver opens on whatever CPU probed them (`drivers/perf/arm_dmc620_pmu.c`).
pub const ELSE: [Traffic; 3] = [
    by_node("arm_cmn", Named("hnf_mc_reqs"), BOTH, LINE),
    by_node("arm_cmn", Named("hns_mc_reqs_local_all"), BOTH, LINE),
    Traffic {
        device: "arm_dmc620",
        event: Named("clkdiv2_rdwr"),
        measure: BOTH,
        bytes: LINE,
        per_device: false,
        of_host: true,
    },
];

/// Zen 1 to 3: a data fabric event per channel, reads and writes together. More of them than the
/// fabric has counters: they take turns.
pub const ZEN_CHANNELS: [&str; 8] = [
    "event=0x07,umask=0x38",
    "event=0x47,umask=0x38",
    "event=0x87,umask=0x38",
    "event=0xc7,umask=0x38",
    "event=0x107,umask=0x38",
    "event=0x147,umask=0x38",
    "event=0x187,umask=0x38",
    "event=0x1c7,umask=0x38",
];

/// Whether [`ZEN_CHANNELS`] are events of this CPU: Zen 4 has the family of Zen 3, and other events.
pub const fn has_channels((family, model): (u32, u32)) -> bool {
    match family {
        0x17 => true,
        0x19 => matches!(model, 0x00..=0x0f | 0x20..=0x5f),
        _ => false,
    }
}
