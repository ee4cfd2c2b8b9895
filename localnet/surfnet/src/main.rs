use surfpool_sdk::Surfnet;
fn main() { let _ = Surfnet::builder(); }
