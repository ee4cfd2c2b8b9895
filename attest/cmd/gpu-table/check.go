package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/attest/measure"
)

// checked is one check of a device, verified.
type checked struct {
	figures measure.Figures
	// busy is the processor time of this process while the device computed, in processors.
	busy float64
}

// check has a device measured once, at an instant that was not known before, and verifies one draw of it.
func check(ctx context.Context, d measure.Device, p measure.Profile) (checked, error) {
	var place measure.Place
	var challenge [32]byte
	for _, b := range [][]byte{place.Instant[:], challenge[:]} {
		if _, err := rand.Read(b); err != nil {
			return checked{}, fmt.Errorf("random number: %w", err)
		}
	}
	task := measure.NewTask(place, 0, p)
	var came []time.Time
	began, before := time.Now(), processorTime()
	run, err := d.Run(ctx, task, func(uint32, measure.Hash) { came = append(came, time.Now()) })
	if err != nil {
		return checked{}, err
	}
	ended, after := time.Now(), processorTime()
	e := run.Result().Entry(0, p)
	draw := measure.NewDraw(challenge, 0, measure.Commit(place, []measure.Entry{e}))
	answer, err := measure.Answer(ctx, run, p, draw)
	roots := run.Result().Roots
	if err := errors.Join(err, run.Close()); err != nil {
		return checked{}, err
	}
	v, err := measure.NewVerifier(task, measure.NewColumns(task.Columns, p.Order), e, roots)
	if err != nil {
		return checked{}, err
	}
	if err := v.Verify(ctx, draw, answer); err != nil {
		return checked{}, fmt.Errorf("the device computes wrongly: %w", err)
	}
	return checked{
		figures: measure.Measured(p, e, measure.Timing{Start: began, Roots: came, Commitment: ended}),
		busy:    (after - before).Seconds() / ended.Sub(began).Seconds(),
	}, nil
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
