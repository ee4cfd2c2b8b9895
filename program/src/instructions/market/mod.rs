//! The market account, its parameters and authority, and the GPU models it knows.

pub mod gpu_model_apply;
pub mod gpu_model_propose;
pub mod market_apply_params;
pub mod market_apply_roles;
pub mod market_init;
pub mod market_pause;
pub mod market_propose_params;
pub mod market_propose_roles;

pub use gpu_model_apply::*;
pub use gpu_model_propose::*;
pub use market_apply_params::*;
pub use market_apply_roles::*;
pub use market_init::*;
pub use market_pause::*;
pub use market_propose_params::*;
pub use market_propose_roles::*;
