package market

import "slices"

// What governance moves in steps (program/src/state/params.rs).
const (
	// ParamsStep is the factor by which one of them may move at a time.
	ParamsStep = 2
	// StepSecs pass from one step to the next, on a market of real machines.
	StepSecs = 7 * 86_400
)

// step is a parameter that moves in steps.
type step struct {
	name  string
	value uint64
}

func steps(p *Params) []step {
	return []step{
		{"min_bond", p.MinBond},
		{"weight_cap", p.WeightCap},
		{"stake_price", p.StakePrice},
		{"emission_cap", p.EmissionCap},
		{"slash_fraud_bps", uint64(p.SlashFraudBps)},
		{"slash_bad_work_bps", uint64(p.SlashBadWorkBps)},
		{"slash_work_failed_bps", uint64(p.SlashWorkFailedBps)},
		{"slash_offline_bps", uint64(p.SlashOfflineBps)},
		{"slash_guarantee_bps", uint64(p.SlashGuaranteeBps)},
		{"slash_unjust_award_bps", uint64(p.SlashUnjustAwardBps)},
		{"slash_equivocation_bps", uint64(p.SlashEquivocationBps)},
	}
}

// more says whether a is more than a step above b.
func more(a, b uint64) bool { return a/ParamsStep > b || a/ParamsStep == b && a%ParamsStep > 0 }

// TooFar are the names of the parameters that are more than a step from old. What is 0 stays 0.
func TooFar(p, old *Params) (names []string) {
	before := steps(old)
	for i, s := range steps(p) {
		if b := before[i].value; more(s.value, b) || more(b, s.value) {
			names = append(names, s.name)
		}
	}
	return names
}

// Steps reports whether these parameters are a step, which may be applied StepSecs after the last one at the earliest: where
// another parameter changes, or machines are simulated, only the timelock has to pass.
func (m *Market) Steps(p *Params) bool {
	return m.Params.AllowSimulated == 0 && !slices.Equal(steps(p), steps(&m.Params))
}
