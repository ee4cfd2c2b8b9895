//! usage: reader JWK < TOKEN. Prints what the token says, a line each, or fails.
use std::io::Read;

fn main() {
    let key = std::env::args().nth(1).expect("a key");
    let mut token = String::new();
    std::io::stdin().read_to_string(&mut token).expect("a token");
    let ear = ear::Ear::from_jwt_jwk(token.trim(), ear::Algorithm::EdDSA, key.as_bytes()).expect("a sound token");
    ear.validate().expect("a valid token");
    println!("profile {}", ear.profile);
    println!("status {}", ear.status.expect("a status").as_str());
    println!("nonce {}", ear.nonce.expect("a nonce"));
    for (name, appraisal) in &ear.submods {
        println!("submod {name}: {}", appraisal.status.as_str());
        for claim in appraisal.trust_vector {
            if claim.is_set() {
                println!("submod {name}: {} {}", claim.tag(), claim.value_name());
            }
        }
    }
}
