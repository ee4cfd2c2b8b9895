//! Vectors of transactions of version 1 (SIMD-0385), by the crates that Agave reads and writes them with. They keep the Go
//! package `sdk/txform`, and with it the signers of keepers, to the same bytes and the same verdicts.

use gantry_market_tests::vectors::{check, hex};
use serde_json::{json, Value};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_message::{
    compiled_instruction::CompiledInstruction,
    v1::{deserialize, Message, TransactionConfig, V1_PREFIX},
    MessageHeader, VersionedMessage,
};
use solana_signer::Signer;
use solana_transaction::versioned::VersionedTransaction;

#[test]
fn transactions_of_version_1() {
    let full = TransactionConfig::empty()
        .with_priority_fee(7)
        .with_compute_unit_limit(6_000)
        .with_loaded_accounts_data_size_limit(64 << 20);
    let cases = vec![
        case("one instruction", 1, full, vec![instruction(1, 2, 0, 300)]),
        case("no config", 1, TransactionConfig::empty(), vec![instruction(1, 1, 0, 0)]),
        case("heap", 1, full.with_heap_size(256 * 1024), vec![instruction(1, 1, 0, 1)]),
        case("two signers", 2, full, vec![instruction(1, 2, 2, 100), instruction(2, 3, 0, 70)]),
        case("twelve signers", 12, full, vec![instruction(1, 3, 12, 9)]),
        case("sixty-four instructions", 1, full, vec![instruction(1, 2, 0, 10); 64]),
        case("sixty-four addresses", 1, full, vec![instruction(1, 62, 0, 40)]),
        case("as many bytes as possible", 1, full, vec![instruction(1, 2, 0, 3_840)]),
    ];
    let largest = cases[7]["transaction"].as_str().expect("is text").len() / 2;
    assert_eq!(largest, solana_message::v1::MAX_TRANSACTION_SIZE);
    let base = two_instructions().serialize();
    check(
        "transactions_v1",
        &json!({ "cases": cases, "limits": limits(), "changes": changes(&base), "cuts": cuts(&base), "base": hex(&base) }),
    );
}

fn keypair(number: usize) -> Keypair {
    Keypair::new_from_array([number as u8 + 1; 32])
}

fn address(kind: u8, number: usize) -> Address {
    Address::new_from_array([kind ^ number as u8; 32])
}

/// Names so many accounts, the first of which are signers.
fn instruction(program: usize, accounts: usize, signers: usize, data: usize) -> Instruction {
    let named = (0..accounts.max(signers)).map(|n| match n < signers {
        true => AccountMeta { pubkey: keypair(n).pubkey(), is_signer: true, is_writable: n % 3 != 1 },
        false => AccountMeta { pubkey: address(0x80, n), is_signer: false, is_writable: n % 2 == 0 },
    });
    let data = (0..data).map(|n| n as u8).collect();
    Instruction { program_id: address(0xc0, program), accounts: named.collect(), data }
}

fn case(name: &str, signers: usize, config: TransactionConfig, instructions: Vec<Instruction>) -> Value {
    let keys: Vec<Keypair> = (0..signers).map(keypair).collect();
    let hash = [3; 32];
    let lifetime = solana_hash::Hash::new_from_array(hash);
    let message = Message::try_compile_with_config(&keys[0].pubkey(), &instructions, lifetime, config)
        .expect("compiles");
    message.validate().expect("is valid");
    // The order of signers is the message's.
    let signing: Vec<&Keypair> = message.account_keys[..signers]
        .iter()
        .map(|key| keys.iter().find(|k| k.pubkey() == *key).expect("is a signer"))
        .collect();
    let bytes = message.serialize();
    let tx = VersionedTransaction::try_new(VersionedMessage::V1(message), &signing).expect("is signed");
    let listed = instructions.iter().map(|i| {
        let accounts = i.accounts.iter().map(|a| {
            json!({ "key": hex(a.pubkey.as_ref()), "signer": a.is_signer, "writable": a.is_writable })
        });
        json!({ "program": hex(i.program_id.as_ref()), "accounts": accounts.collect::<Vec<_>>(), "data": hex(&i.data) })
    });
    json!({
        "name": name, "signers": signers, "blockhash": hex(&hash), "instructions": listed.collect::<Vec<_>>(),
        "priority_fee": config.priority_fee, "units": config.compute_unit_limit,
        "loaded": config.loaded_accounts_data_size_limit, "heap": config.heap_size,
        "message": hex(&bytes), "transaction": hex(&wincode::serialize(&tx).expect("serialises")),
    })
}

/// Whether these bytes are a valid message, and nothing else.
fn valid(raw: &[u8]) -> bool {
    raw.first() == Some(&V1_PREFIX)
        && deserialize(&raw[1..])
            .is_ok_and(|message| message.validate().is_ok() && message.serialize() == raw)
}

fn two_instructions() -> Message {
    let payer = keypair(0).pubkey();
    let config = TransactionConfig::empty()
        .with_priority_fee(1 << 40)
        .with_compute_unit_limit(9)
        .with_heap_size(32 * 1024);
    let instructions = [instruction(1, 2, 0, 9), instruction(2, 3, 0, 3)];
    Message::try_compile_with_config(&payer, &instructions, solana_hash::Hash::default(), config)
        .expect("compiles")
}

/// What is just beyond a limit, or just within it.
fn limits() -> Vec<Value> {
    let message = |signers: u8, addresses: usize, instructions: usize, change: &dyn Fn(&mut Message)| {
        let header = MessageHeader {
            num_required_signatures: signers,
            num_readonly_signed_accounts: 0,
            num_readonly_unsigned_accounts: 1,
        };
        let call =
            CompiledInstruction { program_id_index: addresses as u8 - 1, accounts: vec![0], data: vec![1] };
        let keys = (0..addresses).map(|n| address(0, n)).collect();
        let hash = solana_hash::Hash::default();
        let mut made = Message::new(header, TransactionConfig::empty(), hash, keys, vec![call; instructions]);
        change(&mut made);
        made.serialize()
    };
    let same = |_: &mut Message| {};
    // The config mask is behind the version and the header.
    let masked = |mask: u32, more: usize| {
        let mut raw = message(1, 3, 1, &same);
        raw[4..8].copy_from_slice(&mask.to_le_bytes());
        let values = raw.len() - 4 - 2; // before the instruction's head and its payload
        raw.splice(values..values, vec![0; more]);
        raw
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("64 addresses", message(1, 64, 1, &same)),
        ("65 addresses", message(1, 65, 1, &same)),
        ("64 instructions", message(1, 3, 64, &same)),
        ("65 instructions", message(1, 3, 65, &same)),
        ("no instruction", message(1, 3, 0, &same)),
        ("12 signatures", message(12, 20, 1, &same)),
        ("13 signatures", message(13, 20, 1, &same)),
        ("no signature", message(0, 3, 1, &same)),
        ("payer read only", message(1, 3, 1, &|m| m.header.num_readonly_signed_accounts = 1)),
        ("more roles than addresses", message(1, 3, 1, &|m| m.header.num_readonly_unsigned_accounts = 3)),
        ("an address twice", message(1, 3, 1, &|m| m.account_keys[1] = m.account_keys[2])),
        ("the payer is the program", message(1, 3, 1, &|m| m.instructions[0].program_id_index = 0)),
        ("no such program", message(1, 3, 1, &|m| m.instructions[0].program_id_index = 3)),
        ("no such account", message(1, 3, 1, &|m| m.instructions[0].accounts[0] = 3)),
        ("heap of 32 KiB", message(1, 3, 1, &|m| m.config.heap_size = Some(32 * 1024))),
        ("heap of 257 KiB", message(1, 3, 1, &|m| m.config.heap_size = Some(257 * 1024))),
        ("heap of 31 KiB", message(1, 3, 1, &|m| m.config.heap_size = Some(31 * 1024))),
        ("heap of half a KiB more", message(1, 3, 1, &|m| m.config.heap_size = Some(32 * 1024 + 512))),
        ("all of the mask", masked(0b11111, 20)),
        ("half of the priority fee", masked(0b01, 4)),
        ("the other half", masked(0b10, 4)),
        ("a bit of the mask that nobody knows", masked(0b100000, 4)),
        ("that bit without its value", masked(0b100000, 0)),
        ("the highest bit", masked(1 << 31, 4)),
        ("a value that the mask does not name", masked(0, 4)),
    ];
    cases
        .iter()
        .map(|(name, raw)| json!({ "name": name, "message": hex(raw), "valid": valid(raw) }))
        .collect()
}

/// Every byte replaced by some others: 1 for what is still valid.
fn changes(base: &[u8]) -> String {
    let mut verdicts = String::new();
    for at in 0..base.len() {
        for value in [0, 1, 2, 0x7f, 0x80, 0xff, base[at].wrapping_add(1), base[at].wrapping_sub(1)] {
            let mut raw = base.to_vec();
            raw[at] = value;
            verdicts.push(if valid(&raw) { '1' } else { '0' });
        }
    }
    verdicts
}

/// Every beginning, and what goes on behind the end.
fn cuts(base: &[u8]) -> String {
    (0..base.len() + 4)
        .map(|length| {
            let mut raw = base.to_vec();
            raw.resize(length, 0);
            if valid(&raw) {
                '1'
            } else {
                '0'
            }
        })
        .collect()
}
