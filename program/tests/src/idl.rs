//! The committed description of the program: which instructions there are, and which accounts each of them takes.

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
        Self { instructions, accounts }
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
