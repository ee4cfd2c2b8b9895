use gantry_market::errors::MarketError;
use gantry_market::instructions::market::gpu_model_set::GpuModelArgs;
use gantry_market::state::GpuModel;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Change, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

#[test]
fn writes_a_model_and_writes_it_again() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let mut args = ix::h100();
    args.id = 0x0201;
    args.min_tier = 3;
    w.ok(ix::gpu_model_set(&w, args), &[&authority]);
    let model: GpuModel = w.read(&pda::gpu_model(0x0201));
    assert_eq!((model.id, model.name, model.vram_mib), (args.id, args.name, args.vram_mib));
    assert_eq!((model.tflops_x10, model.min_stake), (args.tflops_x10, args.min_stake));
    assert_eq!(model.reference_price, args.reference_price);
    assert_eq!((model.work_size, model.work_bound_ms), (args.work_size, args.work_bound_ms));
    assert_eq!((model.min_tier, model.version), (3, 1));

    args.min_stake *= 2;
    w.ok(ix::gpu_model_set(&w, args), &[&authority]);
    let again: GpuModel = w.read(&pda::gpu_model(0x0201));
    assert_eq!(again.min_stake, args.min_stake);
    assert_eq!(again.bump, model.bump);
}

#[test]
fn only_the_authority_writes() {
    let mut w = Testbed::new();
    let guardian = w.guardian.insecure_clone();
    let good = ix::gpu_model_set(&w, ix::h100());
    let by_guardian = swap(good.clone(), &w.authority.pubkey(), &guardian.pubkey());
    w.refused(by_guardian, &[&guardian], MarketError::Unauthorised);
    let silent = unsigned(good, &w.authority.pubkey());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
}

#[test]
fn a_model_must_make_sense() {
    let cases: [(&str, Change<GpuModelArgs>); 9] = [
        ("id means any", |a| a.id = 0),
        ("nameless", |a| a.name = [0; 32]),
        ("no memory", |a| a.vram_mib = 0),
        ("no power", |a| a.tflops_x10 = 0),
        ("no stake", |a| a.min_stake = 0),
        ("for free", |a| a.reference_price = 0),
        ("no work", |a| a.work_size = 0),
        ("no time", |a| a.work_bound_ms = 0),
        ("tier that there is not", |a| a.min_tier = 4),
    ];
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    for (name, change) in cases {
        println!("{name}");
        let mut args = ix::h100();
        change(&mut args);
        w.refused(ix::gpu_model_set(&w, args), &[&authority], MarketError::ParameterOutOfRange);
    }
}

#[test]
fn the_model_stands_where_its_id_says() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let mut second = ix::h100();
    second.id = 2;
    let good = ix::gpu_model_set(&w, second);
    // At the address of the first model, which exists, and at one where nothing is.
    let elsewhere = w.fresh_address();
    for wrong in [pda::gpu_model(1), elsewhere] {
        let instruction = swap(good.clone(), &pda::gpu_model(2), &wrong);
        w.refused(instruction, &[&authority], InstructionError::InvalidSeeds);
    }
    let forged = w.forged(&pda::market());
    let other_market = swap(good, &pda::market(), &forged);
    w.refused(other_market, &[&authority], InstructionError::IllegalOwner);
}
