// Package check measures a device of this machine and verifies what it made, as a member of a committee would, for the
// machine's owner: nothing is sent, signed or kept.
package check

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/attest/measure"
)

// Result is one measurement of a device, verified.
type Result struct {
	Figures measure.Figures
	// Busy is the processor time of this process while the device computed, in processors.
	Busy float64
}

// Device has a device measured once by a profile, at an instant that was not known before, and verifies one draw of it.
// Errors: the device's, those of [measure.Verifier] when it computes wrongly, the context's.
func Device(ctx context.Context, d measure.Device, p measure.Profile) (Result, error) {
	var place measure.Place
	var challenge [32]byte
	for _, b := range [][]byte{place.Instant[:], challenge[:]} {
		if _, err := rand.Read(b); err != nil {
			return Result{}, fmt.Errorf("random number: %w", err)
		}
	}
	task := measure.NewTask(place, 0, p)
	var came []time.Time
	began, before := time.Now(), processorTime()
	run, err := d.Run(ctx, task, func(uint32, measure.Hash) { came = append(came, time.Now()) })
	if err != nil {
		return Result{}, err
	}
	ended, after := time.Now(), processorTime()
	e := run.Result().Entry(0, p)
	draw := measure.NewDraw(challenge, 0, measure.Commit(place, []measure.Entry{e}))
	answer, err := measure.Answer(ctx, run, p, draw)
	roots := run.Result().Roots
	if err := errors.Join(err, run.Close()); err != nil {
		return Result{}, err
	}
	v, err := measure.NewVerifier(task, measure.NewColumns(task.Columns, p.Order), e, roots)
	if err != nil {
		return Result{}, err
	}
	if err := v.Verify(ctx, draw, answer); err != nil {
		return Result{}, fmt.Errorf("the device computes wrongly: %w", err)
	}
	return Result{
		Figures: measure.Measured(p, e, measure.Timing{Start: began, Roots: came, Commitment: ended}),
		Busy:    (after - before).Seconds() / ended.Sub(began).Seconds(),
	}, nil
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
