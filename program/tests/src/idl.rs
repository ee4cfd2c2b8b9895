//! The committed description of the program: which instructions there are, and which accounts each of them takes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

/// An account as an instruction takes it.
#[derive(Clone, Debug)]
pub struct AccountSlot {
    pub name: String,
    pub writable: bool,
    pub signer: bool,
    pub optional: bool,
}

#[derive(Clone, Debug)]
pub struct InstructionShape {
    pub name: String,
    pub accounts: Vec<AccountSlot>,
}

/// The parsed idl/gantry_market.json.
pub struct Idl {
    pub instructions: Vec<InstructionShape>,
    /// Names and discriminators of the account types.
    pub accounts: Vec<(String, Vec<u8>)>,
    types: BTreeMap<String, Value>,
}

/// A field of an account: where it begins, after the discriminator, how long it is, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub at: usize,
    pub len: usize,
    pub kind: String,
}

impl Idl {
    /// The committed file. Panics when it is missing or is not what the generator writes.
    pub fn load() -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../idl/gantry_market.json");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let root: Value = serde_json::from_str(&text).expect("the IDL is JSON");
        let instructions = list(&root["instructions"])
            .iter()
            .map(|instruction| {
                let mut accounts = vec![];
                flatten(&instruction["accounts"], &mut accounts);
                InstructionShape { name: name(instruction), accounts }
            })
            .collect();
        let accounts = list(&root["accounts"])
            .iter()
            .map(|account| {
                let tag = list(&account["discriminator"]).iter().map(|b| b.as_u64().expect("a byte") as u8);
                (name(account), tag.collect())
            })
            .collect();
        let types = list(&root["types"]).iter().map(|of| (name(of), of["type"].clone())).collect();
        Self { instructions, accounts, types }
    }

    /// The fields of a type, those of nested structs in their places: layouts are packed.
    pub fn fields(&self, of: &str) -> Vec<Field> {
        let mut fields = vec![];
        self.unfold(&serde_json::json!({ "defined": { "name": of } }), String::new(), &mut fields);
        fields
    }

    fn unfold(&self, kind: &Value, path: String, into: &mut Vec<Field>) {
        let at = into.last().map_or(0, |last: &Field| last.at + last.len);
        let mut leaf = |kind: &str, len: usize| {
            into.push(Field { name: path.clone(), at, len, kind: kind.to_owned() });
        };
        match kind {
            Value::String(kind) => {
                let len = match kind.as_str() {
                    "u8" | "i8" | "bool" => 1,
                    "u16" | "i16" => 2,
                    "u32" | "i32" => 4,
                    "u64" | "i64" => 8,
                    "pubkey" => 32,
                    other => panic!("{path}: no length of {other} is known"),
                };
                leaf(kind, len);
            }
            Value::Object(parts) if parts.contains_key("array") => {
                let count = parts["array"][1].as_u64().expect("an array has a length") as usize;
                if parts["array"][0] == "u8" {
                    return leaf("bytes", count);
                }
                for index in 0..count {
                    self.unfold(&parts["array"][0], format!("{path}[{index}]"), into);
                }
            }
            Value::Object(parts) => {
                let of = &self.types[&name(&parts["defined"])];
                for field in list(&of["fields"]) {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.unfold(&field["type"], format!("{path}{dot}{}", name(field)), into);
                }
            }
            other => panic!("{path}: {other} is no type"),
        }
    }

    pub fn shape(&self, name: &str) -> &InstructionShape {
        let found = self.instructions.iter().find(|shape| shape.name == name);
        found.unwrap_or_else(|| panic!("the IDL has no instruction {name}"))
    }
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("the IDL has a list here")
}

fn name(value: &Value) -> String {
    value["name"].as_str().expect("the IDL has a name here").to_owned()
}

/// Groups of accounts stand in the order of their members.
fn flatten(accounts: &Value, into: &mut Vec<AccountSlot>) {
    for account in list(accounts) {
        if account["accounts"].is_array() {
            flatten(&account["accounts"], into);
            continue;
        }
        let flag = |key: &str| account[key].as_bool().unwrap_or(false);
        into.push(AccountSlot {
            name: name(account),
            writable: flag("writable"),
            signer: flag("signer"),
            optional: flag("optional"),
        });
    }
}
