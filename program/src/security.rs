//! Contact data for people who find a vulnerability, embedded in the binary (security.txt).

#[cfg(not(feature = "no-entrypoint"))]
solana_security_txt::security_txt! {
    name: "Gantry",
    project_url: "https://github.com/gantry-market/gantry",
    contacts: "link:https://github.com/gantry-market/gantry/security/advisories/new",
    policy: "https://github.com/gantry-market/gantry/blob/main/SECURITY.md",
    source_code: "https://github.com/gantry-market/gantry"
}
