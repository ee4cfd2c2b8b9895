//! Test vectors that other languages read: written here, committed, and compared on every run.

use std::path::PathBuf;

use serde_json::Value;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../idl/vectors").join(format!("{name}.json"))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares with the committed file, or rewrites it when `GANTRY_WRITE_VECTORS` is 1.
pub fn check(name: &str, value: &Value) {
    let path = path(name);
    let text = format!("{}\n", serde_json::to_string_pretty(value).expect("serialises"));
    if std::env::var_os("GANTRY_WRITE_VECTORS").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(path.parent().expect("has a folder")).expect("folder is made");
        std::fs::write(&path, text).expect("vectors are written");
        return;
    }
    let committed = std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; GANTRY_WRITE_VECTORS=1 writes it", path.display()));
    assert!(
        committed == text,
        "{} differs from what the program computes; if that is meant, set GANTRY_WRITE_VECTORS=1",
        path.display()
    );
}

/// A committed file that another language has written.
pub fn read(name: &str) -> Value {
    let path = path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).expect("is JSON")
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).expect("is hex")).collect()
}
