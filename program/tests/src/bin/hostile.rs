use gantry_market_tests::matrix;
fn main() {
    let outcome = matrix::run();
    println!("{}\n{:#?}", outcome.summary(), outcome.unexplained());
}
