package governance

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// ParsePaused reads what is to be paused: orders, awards, both, or none. Error: a usage error.
func ParsePaused(text string) (uint8, error) {
	var bits uint8
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' || r == '+' || r == ' ' }) {
		switch word {
		case "orders":
			bits |= market.PauseOrders
		case "awards":
			bits |= market.PauseAwards
		case "all":
			bits |= market.PauseOrders | market.PauseAwards
		case "none":
			if !strings.EqualFold(strings.TrimSpace(text), "none") {
				return 0, service.Usage("none cannot be combined", "write none, or what to pause: orders,awards")
			}
		default:
			return 0, service.Usage(fmt.Sprintf("%q cannot be paused", word), "write orders, awards, orders,awards or none")
		}
	}
	if text == "" {
		return 0, service.Usage("nothing to pause", "write orders, awards, orders,awards or none")
	}
	return bits, nil
}

// Due refuses what is not proposed, or not yet to be applied. eta and now are unix seconds.
func Due(eta, now int64) error {
	switch {
	case eta == 0:
		return service.Refused("nothing is proposed", "see: gantry market show")
	case eta > now:
		return service.Refused(fmt.Sprintf("the timelock runs until %s UTC, %s more", service.When(eta), service.Span(eta-now)), "come back then")
	}
	return nil
}

// ModelID reads the id of a GPU model.
func ModelID(arg string) (uint16, error) {
	id, err := strconv.ParseUint(arg, 10, 16)
	if err != nil || id == 0 {
		return 0, service.Usage(fmt.Sprintf("%q is not a model's id", arg), "give a number from 1 to 65535")
	}
	return uint16(id), nil
}

// LeastStake is the least stake of a model at a price, by the market's parameters.
func LeastStake(p *market.Params, price string) (string, error) {
	of, err := market.ParsePrice(price)
	if err != nil {
		return "", service.Usage("--reference-price: "+err.Error(), "")
	}
	stake, ok := market.LeastStake(p, of)
	if !ok {
		return "", service.Usage("no stake is enough under this market's parameters: nothing is slashed for wrong work", "set --min-stake")
	}
	return stake.String(), nil
}

// ParseProfile reads a profile of a model's measurements: docs/protocol/measurement.md.
func ParseProfile(s string) (p bindings.MeasureProfile, err error) {
	fields := strings.Split(s, ",")
	var fold uint32
	into := []*uint32{&p.Order, &fold, &p.Rows, &p.ChainMs, &p.Resident, &p.WalkMs, &p.Lanes}
	if len(fields) != len(into) {
		return p, fmt.Errorf("%d numbers, a profile has %d", len(fields), len(into))
	}
	for i, field := range fields {
		n, err := strconv.ParseUint(field, 10, 32)
		if err != nil || (i == 1 && n > 255) {
			return p, fmt.Errorf("%q is not a number that a profile can have", field)
		}
		*into[i] = uint32(n)
	}
	p.Fold = uint8(fold)
	return p, nil
}

// ParseTenths reads a number with at most one decimal as ten times its value.
func ParseTenths(s string) (uint32, error) {
	a, b, _ := strings.Cut(s, ".")
	if len(b) > 1 || a == "" {
		return 0, fmt.Errorf("%q is not a number with at most one decimal", s)
	}
	n, err := strconv.ParseUint(a+b+strings.Repeat("0", 1-len(b)), 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a number with at most one decimal", s)
	}
	return uint32(n), nil
}
