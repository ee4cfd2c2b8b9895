package records

// TagSize is the length of a tag in bytes.
const TagSize = 8

// The tags of the records of this package and of those that are made of its parts. A tag is "GANTRY", a letter of its
// own and a version; a record that changes its layout takes the next version.
const (
	TagBidSet           = "GANTRYA1"
	TagBid              = "GANTRYB1"
	TagBidCommitment    = "GANTRYC1"
	TagAnswer           = "GANTRYD1"
	TagJudgements       = "GANTRYG1"
	TagConsent          = "GANTRYH1"
	TagBoot             = "GANTRYI1"
	TagJob              = "GANTRYJ1"
	TagCommitmentAck    = "GANTRYK1"
	TagRevealAck        = "GANTRYL1"
	TagManifest         = "GANTRYM1"
	TagOutcome          = "GANTRYO1"
	TagProposal         = "GANTRYP1"
	TagReceipt          = "GANTRYR1"
	TagStatement        = "GANTRYS1"
	TagOutputCommitment = "GANTRYU1"
	TagOpening          = "GANTRYV1"
	TagStart            = "GANTRYW1"
	TagGrant            = "GANTRYY1"
)

// Tagged describes a record: bytes that are signed or hashed and begin with a tag that no other record has.
type Tagged struct {
	Tag  string
	Name string
	// Size in bytes with the tag; 0 where it varies.
	Size int
	// Layout of what follows the tag. Integers are little-endian, numbers are bytes.
	Layout string
	// Signer, or what the hash is for if there is no signature.
	Signer string
	// Domain is what keeps the record on its cluster.
	Domain string
	// Checked is where, in this repository.
	Checked string
	// Constant of the program, empty where the program does not read the record.
	Constant string
}

// AllTagged are all records of this repository, by tag. Those of attest, which imports nothing of this package, are
// here as well: docs/protocol/records.md shows the table, and a test compares it with the documents, with the program's
// constants and with every tag in the sources.
var AllTagged = []Tagged{
	{TagBidSet, "bid set head", 132, "domain 8 ‖ order 32 ‖ close i64 ‖ chosen at i64 ‖ bids u32 ‖ root 32 ‖ judgements 32", "keeper", "field", "sdk/sealedbid", ""},
	{TagBid, "sealed bid", 128, "domain 8 ‖ order 32 ‖ node 32 ‖ close i64 ‖ price u64 ‖ salt 32", "hashed: the bid commitment", "field", "program, sdk/sealedbid", "BID_TAG"},
	{TagBidCommitment, "bid commitment", 40, "hash of the bid 32", "node key", "in the bid", "program, sdk/sealedbid", "BID_COMMITMENT_TAG"},
	{TagAnswer, "answer to a dispute", 96, "domain 8 ‖ lease 32 ‖ opened at i64 ‖ written at i64 ‖ sha256 of the text 32", "node key or provider", "field", "keeper/dispute", ""},
	{"GANTRYE1", "evidence bundle", 0, "version u16 ‖ zero 2 ‖ challenge, signature, evidence and references (attest/bundle)", "hashed: the evidence hash on chain", "genesis hash, program", "attest/bundle", ""},
	{TagJudgements, "judgements of a bid set", 0, "for each bid: node 32 ‖ code u8 ‖ requirement u16 ‖ reputation u16 ‖ guarantee u16 ‖ score u64 ‖ site 16", "hashed: into the bid set head", "in the bid set head", "sdk/sealedbid", ""},
	{TagConsent, "consent of a keeper's signer", ConsentSize, "domain 8 ‖ wallet of the keeper 32 ‖ until i64", "the signer", "field", "program", "CONSENT_TAG"},
	{TagBoot, "process of a node's key", 72, "domain 8 ‖ nonce 32 ‖ boot id 16 ‖ up in ms u64", "node key", "field", "agent/alone", ""},
	{TagJob, "job", 0, "canonical CBOR of the job", "hashed: the order's image digest", "none: a job is the same on every cluster", "agent/lease", ""},
	{TagCommitmentAck, "acknowledgement of a commitment", 48, "hash of the bid 32 ‖ received at i64", "keeper", "in the bid", "sdk/sealedbid", ""},
	{TagRevealAck, "acknowledgement of a reveal", 48, "hash of the bid 32 ‖ received at i64", "keeper", "in the bid", "program, sdk/sealedbid", "REVEAL_ACK_TAG"},
	{TagManifest, "manifest", 64, "domain 8 ‖ period u64 ‖ statements u32 ‖ bytes of the set u32 ‖ sha256 of the set 32", "keeper", "field", "program, keeper/statement", "MANIFEST_TAG"},
	{"GANTRYN1", "signature of an evidence bundle", 80, "nonce of the challenge 32 ‖ created i64 ‖ digest of all evidence 32", "node key", "in the nonce", "attest/bundle", ""},
	{TagOutcome, "outcome of a bid", 92, "hash of the bid 32 ‖ code u8 ‖ zero 1 ‖ requirement u16 ‖ price u64 ‖ decided at i64 ‖ root 32", "keeper", "in the bid", "sdk/sealedbid", ""},
	{TagProposal, "proposal", 128, "domain 8 ‖ period u64 ‖ round u32 ‖ manifests u32 ‖ root 32 ‖ seed 32 ‖ sha256 of the manifests' keepers and digests 32", "keeper", "field", "keeper/report", ""},
	{TagReceipt, "receipt", 72, "domain 8 ‖ lease 32 ‖ started at i64 ‖ sequence u64 ‖ cumulative seconds u64", "node key and customer", "field", "program, agent/receipt", "RECEIPT_TAG"},
	{TagStatement, "check statement", 144, "domain 8 ‖ node 32 ‖ period u64 ‖ kind u8 ‖ passed u8 ‖ zero 2 ‖ two figures u32 ‖ covered u32 ‖ checked at i64 ‖ lease 32 ‖ detail 32", "keeper", "field", "program, keeper/statement", "STATEMENT_TAG"},
	{"GANTRYT1", "enrolment of a TPM", 210, "genesis hash 32 ‖ program 32 ‖ node key 32 ‖ endorsement key 32 ‖ name of the attestation key 34 ‖ seen at i64 ‖ keeper 32", "keeper", "genesis hash, program", "attest/tpm", ""},
	{TagOutputCommitment, "output commitment", 112, "domain 8 ‖ lease 32 ‖ output 32 ‖ salt 32", "hashed: binds a node to its output", "field", "program, sdk/audit", "OUTPUT_TAG"},
	{TagOpening, "opening of a measurement", 106, "sha256 of the commitment 32 ‖ challenge 32 ‖ GPU u8 ‖ refusal u8 ‖ sha256 of the answer 32", "node key", "in the commitment", "sdk/measure", ""},
	{TagStart, "start of a container", StartSize, "domain 8 ‖ image 32 ‖ node 32 ‖ lease 32 ‖ hour u32 ‖ model u16 ‖ outcome u8 ‖ zero 1 ‖ driver 16 ‖ sandbox 24", "node key", "field", "client/starts", ""},
	{TagGrant, "grant of a gateway", 0, "canonical CBOR of the grant", "customer", "field", "agent/lease", ""},
}

// Label describes a hash that begins with a label. None is the beginning of another.
type Label struct{ Label, What, Where string }

// AllLabels are all labels, sorted.
var AllLabels = []Label{
	{"gantry-backup-1", "key of a wallet's backups in one folder of a bucket (HKDF-SHA256)", "client/buy"},
	{"gantry-claims-1", "digest of what a confidential machine claims in a bundle", "attest/bundle"},
	{"gantry-committee-1", "number of a keeper or node in the draw of committees", "sdk/market/committee"},
	{"gantry-device", "device identity on chain", "agent/host, attest/policy"},
	{"gantry-draw-1", "seed of the draw of a redundant order's nodes", "sdk/market"},
	{"gantry-evidence-2", "nonce of an evidence challenge", "attest"},
	{"gantry-evidence-all-1", "digest of all evidence of a bundle", "attest/bundle"},
	{"gantry-gateway-payment-1", "purpose of a payment to a gateway", "sdk/records"},
	{"gantry-gateway-ssh-1", "SSH host key of a gateway's jump host", "gateway/daemon"},
	{"gantry-guest-1", "what a guest's key signs in a bundle", "attest/guest"},
	{"gantry-guest-answer-1", "what a guest's key signs of an answer", "attest/guest"},
	{"gantry-guest-opened-2", "what a guest's receipt says it has opened", "attest/guest/control"},
	{"gantry-instant-1", "seed of a tick of a period, which may be its instant", "sdk/market/instant, program/src/state"},
	{"gantry-lease-challenge-1", "id of the challenge by which a lease's customer asks its machine for evidence", "attest"},
	{"gantry-lease-instant-1", "instant of a measurement that a lease's customer asks for", "sdk/market/instant"},
	{"gantry-nvgpu-device-1", "GPU by the key of its certificate", "attest/nvgpu"},
	{"gantry-others-1", "digest of all evidence of a bundle but the TPM's", "attest/bundle"},
	{"gantry-p2p-1", "connection hash of a lease", "agent/lease"},
	{"gantry-seal-1", "what a message to a lease's machine is sealed for (HPKE)", "attest/seal"},
	{"gantry-seal-back-1", "key of the answers to a sealed message (HPKE export)", "attest/seal"},
	{"gantry-seed-1", "seed of a period's committees", "sdk/market/committee"},
	{"gantry-simulated-gpu", "UUID of a simulated GPU", "agent/host"},
	{"gantry-snapshot-1", "keys that name and encrypt the parts of a snapshot (HKDF-SHA256)", "sdk/snapshot"},
	{"gantry-snp-chip-1", "host processor of an SEV-SNP report", "attest/snp"},
	{"gantry-ssh-host-1", "SSH host key of a lease", "agent/shell"},
	{"gantry-tdx-platform-1", "host processor of a TDX quote", "attest/tdx"},
	{"gantry-tee-2", "report data of an SEV-SNP report or TDX quote (SHA-512)", "attest"},
	{"gantry-tpm-1", "qualifying data of a TPM quote", "attest"},
	{"gantry-tpm-ek-1", "identity of a TPM's endorsement key", "attest/tpm"},
	{"gantry-volume-1", "key of a lease's volume (HKDF-SHA256)", "client/buy"},
}
