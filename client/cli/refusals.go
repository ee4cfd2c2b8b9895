package cli

import (
	"github.com/gantry-market/gantry/client/market"
	idlmarket "github.com/gantry-market/gantry/idl/market"
)

// unsuitable names the reason of market.Awardable in a few words.
func unsuitable(err error) string {
	code, ok := market.CodeOf(err)
	if !ok {
		return "not suitable"
	}
	switch code {
	case idlmarket.ErrorCodeUnsuitableModel:
		return "of another model"
	case idlmarket.ErrorCodeNotEnoughGpus:
		return "without enough free GPUs"
	case idlmarket.ErrorCodeUnsuitableHardware:
		return "simulated or other hardware"
	case idlmarket.ErrorCodeUnsuitableLocation:
		return "in another region"
	case idlmarket.ErrorCodeUnsuitableReputation:
		return "below the uptime or reputation"
	case market.CodePriceTooHigh:
		return "too dear"
	case idlmarket.ErrorCodeInsufficientStake:
		return "without enough stake"
	}
	return "not taking work"
}
