package processor

import (
	"context"
	"errors"

	"github.com/gantry-market/gantry/attest/measure"
)

// ErrUnopened is the error of a run that keeps nothing to open.
var ErrUnopened = errors.New("this run keeps nothing that could be opened")

// Unopened computes rightly and opens nothing of what it has computed. Local networks and tests show with it that such a
// machine is found.
type Unopened struct{ Device measure.Device }

var _ measure.Device = Unopened{}

// Run implements [measure.Device].
func (u Unopened) Run(ctx context.Context, t measure.Task, ended func(uint32, measure.Hash)) (measure.Run, error) {
	run, err := u.Device.Run(ctx, t, ended)
	if err != nil {
		return nil, err
	}
	return unopened{run}, nil
}

type unopened struct{ measure.Run }

func (unopened) Leaves(context.Context, []measure.LeafAt) ([]measure.LeafOpening, error) {
	return nil, ErrUnopened
}
