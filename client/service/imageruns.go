package service

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ImageRuns is what machines that fit an order say of an image: on how many it has run. It counts machines, where [ImageStarts] counts
// customers. What is not known is 0.
type ImageRuns struct {
	Digest   string       `json:"digest,omitempty" doc:"sha256 of the image's manifest"`
	Asked    int          `json:"machinesAsked" doc:"Machines that were asked: the best of those that fit"`
	Answered int          `json:"machinesAnswered" doc:"Those that have answered in time"`
	Tried    int          `json:"machinesTried" doc:"Those of which it is known how the image has started there"`
	Ran      int          `json:"machinesRan" doc:"Those on which it last ran for a customer at least: for a minute, or to status 0"`
	Owners   int          `json:"owners" doc:"Owners of the machines of which it is known"`
	Drivers  []DriverRuns `json:"drivers,omitempty" doc:"The same by branch of the driver, for one machine once in each"`
	Fails    bool         `json:"fails,omitempty" doc:"The image failed on every machine of which it is known. Whoever made it fail could have given a wrong command"`
	Says     string       `json:"says,omitempty" example:"failed on driver 595.x: 14 of 14" doc:"The same in words; absent where nothing is known"`
}

// DriverRuns counts machines with drivers of a branch.
type DriverRuns struct {
	Driver string `json:"driver,omitempty" doc:"Branch of the driver, such as 595; absent for machines without one"`
	Tried  int    `json:"machinesTried"`
	Ran    int    `json:"machinesRan"`
}

// RunsOf sums up what offers say of an image; nil where no machine was asked.
func RunsOf(offers []Offer) *ImageRuns {
	out := ImageRuns{}
	drivers, owners := map[string]*DriverRuns{}, map[string]bool{}
	for i := range offers {
		is := offers[i].Image
		if is == nil {
			continue
		}
		out.Digest = is.Digest
		out.Asked++
		if is.Answered {
			out.Answered++
		}
		if len(is.drivers) == 0 {
			continue
		}
		out.Tried++
		out.Ran += is.rank()
		owners[offers[i].Provider] = true
		for driver, ran := range is.drivers {
			d := drivers[driver]
			if d == nil {
				d = &DriverRuns{Driver: driver}
				drivers[driver] = d
			}
			d.Tried++
			if ran {
				d.Ran++
			}
		}
	}
	if out.Asked == 0 {
		return nil
	}
	out.Owners, out.Fails = len(owners), out.Tried > 0 && out.Ran == 0
	for _, driver := range slices.Sorted(maps.Keys(drivers)) {
		out.Drivers = append(out.Drivers, *drivers[driver])
	}
	slices.SortStableFunc(out.Drivers, func(a, b DriverRuns) int { return cmp.Compare(b.Tried, a.Tried) })
	out.Says = out.says()
	return &out
}

// maxDrivers is how many branches of drivers a sentence names.
const maxDrivers = 3

// says is what the counts come to; empty where nothing is known.
func (r *ImageRuns) says() string {
	if r.Tried == 0 {
		return ""
	}
	var failed []string
	for _, d := range r.Drivers {
		if d.Ran > 0 {
			continue
		}
		where := "driver " + d.Driver + ".x"
		if d.Driver == "" {
			where = "machines without a driver"
		}
		failed = append(failed, fmt.Sprintf("%s: %d of %d", where, d.Tried, d.Tried))
	}
	if more := len(failed) - maxDrivers; more > 0 {
		failed = append(failed[:maxDrivers], fmt.Sprintf("%d other drivers", more))
	}
	where := strings.Join(failed, ", ")
	switch {
	case r.Ran == 0:
		return "failed on " + where
	case where != "":
		return fmt.Sprintf("ran on %d of %d machines, failed on %s", r.Ran, r.Tried, where)
	}
	return fmt.Sprintf("ran on %d of %d machines", r.Ran, r.Tried)
}
