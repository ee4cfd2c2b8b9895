//! Pure functions: no accounts, no clock, no logging. Each has a twin in Go and shared vectors.

pub mod bid;
pub mod bytes;
pub mod dispute;
pub mod evidence;
pub mod fees;
pub mod figures;
pub mod guarantee;
pub mod hash;
pub mod measure;
pub mod merkle;
pub mod periods;
pub mod pricing;
pub mod reputation;
pub mod score;
pub mod slashing;
pub mod window;
