//! Nodes: registration, asks, evidence, uptime guarantees, retirement.

pub mod claims;
pub mod guarantee_resolve;
pub mod node_accept_terms;
pub mod node_close;
pub mod node_guarantee;
pub mod node_register;
pub mod node_report_dead;
pub mod node_retire;
pub mod node_set_evidence;
pub mod node_update;

pub use guarantee_resolve::*;
pub use node_accept_terms::*;
pub use node_close::*;
pub use node_guarantee::*;
pub use node_register::*;
pub use node_report_dead::*;
pub use node_retire::*;
pub use node_set_evidence::*;
pub use node_update::*;
