//! What was done, in full: a run can be repeated, shortened and committed without the generator that made it.

use serde_json::{json, Value};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};

use crate::vectors::hex;

/// One thing that happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Seconds pass.
    Warp(i64),
    /// One transaction. Whoever is marked as a signer signs.
    Send(Vec<Instruction>),
    /// Several ways to do the same, of which the first is taken: all must leave everyone with as much.
    Either(Vec<Vec<Step>>),
    /// Someone sends lamports to an address.
    Lamports(Address, u64),
    /// Someone sends tokens to a token account.
    Tokens(Address, u64),
    /// The holder of a token account does something with it by the token program.
    Token(Address, TokenTrick),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TokenTrick {
    Freeze,
    Thaw,
    Delegate(Address),
    CloseAuthority(Address),
    Owner(Address),
}

fn text(address: &Address) -> String {
    address.to_string()
}

fn address(value: &Value) -> Result<Address, String> {
    let text = value.as_str().ok_or("an address is a string")?;
    text.parse().map_err(|_| format!("{text} is not an address"))
}

fn bytes(value: &Value) -> Result<Vec<u8>, String> {
    let text = value.as_str().ok_or("data is a string")?;
    if !text.is_ascii() || text.len() % 2 != 0 {
        return Err("data is not hexadecimal".to_owned());
    }
    (0..text.len() / 2)
        .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|e| e.to_string()))
        .collect()
}

fn number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| "a number is whole".to_owned())
}

impl TokenTrick {
    fn to_json(self) -> Value {
        match self {
            Self::Freeze => json!("freeze"),
            Self::Thaw => json!("thaw"),
            Self::Delegate(to) => json!({ "delegate": text(&to) }),
            Self::CloseAuthority(to) => json!({ "close_authority": text(&to) }),
            Self::Owner(to) => json!({ "owner": text(&to) }),
        }
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some("freeze") => return Ok(Self::Freeze),
            Some("thaw") => return Ok(Self::Thaw),
            _ => {}
        }
        let (name, to) = value.as_object().and_then(|all| all.iter().next()).ok_or("a trick has a name")?;
        let to = address(to)?;
        match name.as_str() {
            "delegate" => Ok(Self::Delegate(to)),
            "close_authority" => Ok(Self::CloseAuthority(to)),
            "owner" => Ok(Self::Owner(to)),
            other => Err(format!("unknown trick {other}")),
        }
    }
}

impl Step {
    pub fn to_json(&self) -> Value {
        match self {
            Self::Warp(seconds) => json!({ "warp": seconds }),
            Self::Lamports(to, amount) => json!({ "lamports": amount, "to": text(to) }),
            Self::Tokens(to, amount) => json!({ "tokens": amount, "to": text(to) }),
            Self::Token(at, trick) => json!({ "token": text(at), "trick": trick.to_json() }),
            Self::Either(ways) => {
                let ways: Vec<Vec<Value>> =
                    ways.iter().map(|way| way.iter().map(Self::to_json).collect()).collect();
                json!({ "either": ways })
            }
            Self::Send(instructions) => {
                let instructions: Vec<Value> = instructions
                    .iter()
                    .map(|instruction| {
                        let accounts: Vec<Value> = instruction
                            .accounts
                            .iter()
                            .map(|meta| {
                                let flags = match (meta.is_signer, meta.is_writable) {
                                    (true, true) => "sw",
                                    (true, false) => "s",
                                    (false, true) => "w",
                                    (false, false) => "",
                                };
                                json!([text(&meta.pubkey), flags])
                            })
                            .collect();
                        let name = crate::ix::name_of(&instruction.data).unwrap_or("-");
                        let data = hex(&instruction.data);
                        json!({ "name": name, "program": text(&instruction.program_id), "data": data, "accounts": accounts })
                    })
                    .collect();
                json!({ "send": instructions })
            }
        }
    }

    /// Reads what [`Self::to_json`] writes.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        if let Some(seconds) = value["warp"].as_i64() {
            return Ok(Self::Warp(seconds));
        }
        if value["lamports"].is_u64() {
            return Ok(Self::Lamports(address(&value["to"])?, number(&value["lamports"])?));
        }
        if value["tokens"].is_u64() {
            return Ok(Self::Tokens(address(&value["to"])?, number(&value["tokens"])?));
        }
        if value["token"].is_string() {
            return Ok(Self::Token(address(&value["token"])?, TokenTrick::from_json(&value["trick"])?));
        }
        if let Some(ways) = value["either"].as_array() {
            let way = |way: &Value| {
                let steps = way.as_array().ok_or("a way is a list")?;
                steps.iter().map(Self::from_json).collect::<Result<Vec<Step>, String>>()
            };
            return Ok(Self::Either(ways.iter().map(way).collect::<Result<_, _>>()?));
        }
        let instructions = value["send"].as_array().ok_or("a step of no known kind")?;
        let instructions: Result<Vec<Instruction>, String> = instructions
            .iter()
            .map(|instruction| {
                let accounts = instruction["accounts"].as_array().ok_or("accounts are a list")?;
                let accounts: Result<Vec<AccountMeta>, String> = accounts
                    .iter()
                    .map(|meta| {
                        let flags = meta[1].as_str().ok_or("flags are a string")?;
                        Ok(AccountMeta {
                            pubkey: address(&meta[0])?,
                            is_signer: flags.contains('s'),
                            is_writable: flags.contains('w'),
                        })
                    })
                    .collect();
                Ok(Instruction {
                    program_id: address(&instruction["program"])?,
                    accounts: accounts?,
                    data: bytes(&instruction["data"])?,
                })
            })
            .collect();
        Ok(Self::Send(instructions?))
    }

    /// How many instructions it runs.
    pub fn instructions(&self) -> usize {
        match self {
            Self::Send(instructions) => instructions.len(),
            Self::Either(ways) => ways.iter().flatten().map(Self::instructions).sum(),
            _ => 0,
        }
    }
}
