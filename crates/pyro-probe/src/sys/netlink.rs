//! A generic netlink socket.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, c_void};

use super::call::check;

/// Bytes of messages that may wait for us in the kernel.
static WAITING_BYTES: c_int = 4 << 20;

/// Talks to the kernel in datagrams.
#[derive(Debug)]
pub struct Netlink {
    fd: OwnedFd,
    /// Whether the kernel dropped messages since the last look.
    overrun: bool,
}

impl Netlink {
    /// Opens a socket.
    ///
    /// # Errors
    /// What the system says.
    pub fn open() -> io::Result<Self> {
        // SAFETY: the descriptor is ours alone; the kernel reads the structures.
        unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let raw = check(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_GENERIC))?;
            let fd = OwnedFd::from_raw_fd(raw);
            let mut address = std::mem::zeroed::<libc::sockaddr_nl>();
            address.nl_family = libc::AF_NETLINK as u16;
            check(libc::bind(
                raw,
                (&raw const address).cast(),
                std::mem::size_of_val(&address) as libc::socklen_t,
            ))?;
            // A shorter queue only means that more may be dropped, which is counted.
            libc::setsockopt(
                raw,
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                (&raw const WAITING_BYTES).cast::<c_void>(),
                std::mem::size_of::<c_int>() as libc::socklen_t,
            );
            Ok(Self { fd, overrun: false })
        }
    }

    /// Sends one datagram.
    ///
    /// # Errors
    /// What the system says.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: the kernel reads `bytes`.
        let sent =
            unsafe { libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Takes a datagram that is there; `None` if there is none.
    pub fn take<'b>(&mut self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        loop {
            // SAFETY: the kernel writes at most `buffer.len()` bytes into memory that we own.
            let got = unsafe {
                libc::recv(
                    self.fd.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    libc::MSG_DONTWAIT,
                )
            };
            if got >= 0 {
                return buffer.get(..got as usize);
            }
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::ENOBUFS) => self.overrun = true,
                Some(libc::EINTR) => {}
                _ => return None,
            }
        }
    }

    /// True if the kernel dropped messages since this was asked last.
    pub fn overran(&mut self) -> bool {
        std::mem::take(&mut self.overrun)
    }
}
