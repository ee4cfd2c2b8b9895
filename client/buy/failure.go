package buy

import (
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
)

type failure = service.Failure

func refused(reason, advice string) error { return service.Refused(reason, advice) }

func usage(reason, advice string) error { return service.Usage(reason, advice) }

func network(reason, advice string, cause error) error { return service.Network(reason, advice, cause) }

func interrupted(reason, advice string) error { return service.Interrupted(reason, advice) }

func classify(err error) *failure { return service.Classify(err) }

// when writes a unix second, "-" for none.
func when(unix int64) string {
	if unix == 0 {
		return "-"
	}
	return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04:05")
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// short is an address as sentences show it.
func short(key solana.PublicKey) string {
	s := key.String()
	if len(s) <= 6 {
		return s
	}
	return s[:6] + "…"
}
