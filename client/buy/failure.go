package buy

import (
	"github.com/gantry-market/gantry/client/service"
)

type failure = service.Failure

func refused(reason, advice string) error { return service.Refused(reason, advice) }

// noMachine is the failure of an order that no machine serves now.
func noMachine(reason, advice string) error {
	return &failure{Code: service.CodeRefused, Reason: reason, Advice: advice, Cause: errNoMachine}
}

func usage(reason, advice string) error { return service.Usage(reason, advice) }

func network(reason, advice string, cause error) error { return service.Network(reason, advice, cause) }

func interrupted(reason, advice string) error { return service.Interrupted(reason, advice) }

func classify(err error) *failure { return service.Classify(err) }
