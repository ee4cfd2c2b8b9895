package audit

import (
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/sdk/market"
)

// span writes seconds as people do, to the last second: "1 h 30 min", "27 s".
func span(secs int64) string {
	var parts []string
	for _, u := range []struct {
		secs int64
		name string
	}{{86_400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}} {
		if n := secs / u.secs; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
			secs %= u.secs
		}
	}
	if len(parts) == 0 {
		return "0 s"
	}
	return strings.Join(parts, " ")
}

// dollars writes an amount to its last unit, with two decimals at least.
func dollars[T ~uint64](micros T) string { return "$" + market.USDC(micros).String() }

// machines says how many machines there are, with how many GPUs each.
func machines(nodes, gpus uint8) string {
	each := ""
	if nodes != 1 {
		each = " each"
	}
	return fmt.Sprintf("%s with %s%s", count(int(nodes), "machine", "machines"), count(int(gpus), "GPU", "GPUs"), each)
}
