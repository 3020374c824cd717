//! The kernel's taskstats over netlink.

use std::io;

use crate::parse::taskstats::{Message, Stats, messages, request};
use crate::sys;
use crate::sys::netlink::Netlink;

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CMD_GET: u8 = 1;
/// Asks about a thread.
pub const ATTR_PID: u16 = 1;
/// Asks about a process.
pub const ATTR_TGID: u16 = 2;
const ATTR_REGISTER_CPUMASK: u16 = 3;
/// A datagram holds two structures at most: a thread's and its process's.
const DATAGRAM_BYTES: usize = 16 << 10;

/// Questions to taskstats, and what it says of threads that end.
#[derive(Debug)]
pub struct Client {
    family: u16,
    /// Version of the kernel's structure.
    pub version: u16,
    queries: Netlink,
    /// Messages about threads that end.
    pub exits: Netlink,
    /// Room for a datagram.
    pub buffer: Vec<u8>,
}

impl Client {
    /// Opens both sockets and asks about the probe itself.
    ///
    /// # Errors
    /// What the system says.
    pub fn open() -> io::Result<Self> {
        let mut queries = Netlink::open()?;
        let mut buffer = vec![0; DATAGRAM_BYTES];
        let name = b"TASKSTATS\0";
        queries.send(&request(
            GENL_ID_CTRL,
            CTRL_CMD_GETFAMILY,
            1,
            CTRL_ATTR_FAMILY_NAME,
            name,
        ))?;
        let answer = queries.take(&mut buffer).map(messages).unwrap_or_default();
        let Some(Message::Family(family)) = answer.into_iter().next() else {
            return Err(io::Error::other(
                "not built into this kernel (CONFIG_TASKSTATS)",
            ));
        };
        let exits = Netlink::open()?;
        let mut client = Self {
            family,
            version: 0,
            queries,
            exits,
            buffer,
        };
        // Answers come before send() returns; what needs CAP_NET_ADMIN is answered with EPERM.
        let question = request(
            family,
            CMD_GET,
            1,
            ATTR_PID,
            &std::process::id().to_ne_bytes(),
        );
        client.queries.send(&question)?;
        let answer = client.queries.take(&mut client.buffer).map(messages);
        match answer.unwrap_or_default().first() {
            Some(Message::Thread(stats)) => client.version = stats.version,
            Some(Message::Error(code)) => return Err(io::Error::from_raw_os_error(code.abs())),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        let cpus = format!(
            "0-{}\0",
            sys::sysconf(libc::_SC_NPROCESSORS_CONF).max(1) - 1
        );
        let listen = request(family, CMD_GET, 1, ATTR_REGISTER_CPUMASK, cpus.as_bytes());
        client.exits.send(&listen)?;
        if let Some(datagram) = client.exits.take(&mut client.buffer)
            && let Some(Message::Error(code)) = messages(datagram).first()
            && *code != 0
        {
            return Err(io::Error::from_raw_os_error(code.abs()));
        }
        Ok(client)
    }

    /// Asks about a process (`ATTR_TGID`) or a thread (`ATTR_PID`).
    pub fn ask(&mut self, attribute: u16, id: i32) -> Option<Stats> {
        let question = request(self.family, CMD_GET, 1, attribute, &id.to_ne_bytes());
        self.queries.send(&question).ok()?;
        let answer = messages(self.queries.take(&mut self.buffer)?)
            .into_iter()
            .next()?;
        match answer {
            Message::Thread(stats) | Message::Process(_, stats) => Some(stats),
            _ => None,
        }
    }
}

/// Whether taskstats answers, or why not.
///
/// # Errors
/// What the system says.
pub fn try_taskstats() -> io::Result<()> {
    Client::open().map(drop)
}
