//! The shipper in a world that fails as planned.

mod hung;
mod joined;
mod killed;
mod spooled;
mod steady;
mod store;
mod unsaved;
mod world;
