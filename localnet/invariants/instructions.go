package invariants

import (
	"crypto/sha256"
	"encoding/hex"
)

// instructions are the names of the program's instructions, in the order in which a reader meets them.
var instructions = []string{
	"market_init", "market_propose_params", "market_apply_params", "market_pause", "market_set_authority",
	"market_accept_authority", "market_propose_roles", "market_apply_roles", "gpu_model_propose", "gpu_model_apply",
	"keeper_register", "keeper_activate", "keeper_suspend", "keeper_update", "keeper_set_signer", "keeper_request_exit", "keeper_withdraw",
	"provider_register", "provider_set_payout", "provider_stake", "provider_request_unstake", "provider_withdraw_stake",
	"provider_close",
	"node_register", "node_set_evidence", "node_update", "node_accept_terms", "node_guarantee", "guarantee_resolve",
	"node_report_dead", "node_retire", "node_close",
	"credits_deposit", "credits_withdraw", "credits_set_session_key", "credits_close",
	"order_create", "order_cancel", "order_expire", "order_reopen", "order_award",
	"auction_open", "auction_award", "auction_close",
	"lease_start", "lease_abort", "lease_extend", "lease_settle_receipt", "lease_settle_report", "lease_end",
	"lease_checkpoint", "lease_migrate", "lease_rate", "lease_close",
	"report_vote", "report_apply", "report_close", "fault_open", "slash_apply", "slash_compensate", "slash_close", "slash_appeal", "payout_claim",
	"fraud_proof_close", "fraud_proof_commitment", "fraud_proof_leaf", "prove_wrong_cell", "prove_better_ask", "prove_omitted_bid", "prove_equivocation",
	"dispute_open", "dispute_vote", "dispute_resolve", "dispute_uphold",
	"outage_vote", "lease_outage", "outage_close",
	"output_commit", "output_reveal", "output_resolve", "output_forfeit",
	"rewards_accrue", "rewards_claim", "rewards_buy_back", "emission_claim",
}

var instructionNames = func() map[[8]byte]string {
	names := make(map[[8]byte]string, len(instructions))
	for _, name := range instructions {
		sum := sha256.Sum256([]byte("global:" + name))
		names[[8]byte(sum[:8])] = name
	}
	return names
}()

// InstructionName is the name of the instruction that the data calls; one that is not known is shown by its
// discriminator.
func InstructionName(data []byte) string {
	if len(data) < 8 {
		return "?"
	}
	if name, ok := instructionNames[[8]byte(data[:8])]; ok {
		return name
	}
	return hex.EncodeToString(data[:8])
}
