package buy

import (
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// unsuitable names the reason of market.Awardable in a few words.
func unsuitable(err error) string {
	code, ok := market.CodeOf(err)
	if !ok {
		return "not suitable"
	}
	switch code {
	case bindings.ErrorCodeUnsuitableModel:
		return "of another model"
	case bindings.ErrorCodeNotEnoughGpus:
		return "without enough free GPUs"
	case bindings.ErrorCodeUnsuitableHardware:
		return "simulated or other hardware"
	case bindings.ErrorCodeUnsuitableFigures:
		return "not measured to be of their class, or slower than asked for"
	case bindings.ErrorCodeUnsuitableLocation:
		return "in another region"
	case bindings.ErrorCodeUnsuitableReputation:
		return "below the uptime or reputation"
	case market.CodePriceTooHigh:
		return "too dear"
	case bindings.ErrorCodeInsufficientStake:
		return "without enough stake"
	}
	return "not taking work"
}
