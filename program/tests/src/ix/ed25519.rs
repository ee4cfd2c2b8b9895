use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;

/// The runtime's signature check, laid out as the program demands: every part inside this very instruction.
pub fn signed(key: &Keypair, message: &[u8]) -> Instruction {
    let signature: [u8; 64] = *key.sign_message(message).as_array();
    signed_raw(&key.pubkey().to_bytes(), &signature, message)
}

/// The runtime's signature checker.
pub fn ed25519_program() -> Address {
    Address::from_str_const("Ed25519SigVerify111111111111111111111111111")
}

pub fn signed_raw(key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> Instruction {
    let [low, high] = (message.len() as u16).to_le_bytes();
    let mut data = vec![1, 0, 48, 0, 0xff, 0xff, 16, 0, 0xff, 0xff, 112, 0, low, high, 0xff, 0xff];
    data.extend_from_slice(key);
    data.extend_from_slice(signature);
    data.extend_from_slice(message);
    Instruction { program_id: ed25519_program(), accounts: vec![], data }
}
