package service

import (
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// smallShare is what machines lack whose GPUs would do.
const smallShare = "fewer cores, less memory or disk, or an older CUDA"

// SmallShare is what [Unsuitable] says of such machines.
const SmallShare = "with " + smallShare

// NoSpot is said of nodes that take no interruptible work.
const NoSpot = "that take no interruptible work"

// Unsuitable names in a few words why a node cannot be awarded an order: an error of [market.Awardable] or [market.Biddable].
func Unsuitable(err error) string {
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
	case bindings.ErrorCodeUnsuitableShare:
		return SmallShare
	case bindings.ErrorCodeUnsuitableFigures:
		return "not measured to be of their class, or slower than asked for"
	case bindings.ErrorCodeUnsuitableLocation:
		return "in another region"
	case bindings.ErrorCodeUnsuitableReputation:
		return "below the uptime or reputation"
	case bindings.ErrorCodeUnsuitableGuarantee:
		return "without a guarantee of that time"
	case market.CodePriceTooHigh:
		return "too dear"
	case market.CodeNoSpotPrice:
		return NoSpot
	case bindings.ErrorCodeInsufficientStake:
		return "without enough stake"
	case bindings.ErrorCodeNodeDeclined:
		return "that have declined it or did not start it"
	case bindings.ErrorCodeNodeTooNew:
		return "that are newer than the order, which is over several machines"
	case bindings.ErrorCodeNodeUnhealthy:
		return "that name a fault of their own"
	}
	return "not taking work"
}
