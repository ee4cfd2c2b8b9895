package service

import (
	"fmt"

	"github.com/gantry-market/gantry/attest/measure"
)

// States of an inspection.
const (
	// InspectionDue: the machine is measured at a second of the lease that is drawn.
	InspectionDue = "due"
	// InspectionSpared: auto has not drawn this lease.
	InspectionSpared = "spared"
	// InspectionPassed: the machine has shown enough.
	InspectionPassed = "passed"
	// InspectionFailed: the machine does not pass, and its lease was to be ended.
	InspectionFailed = "failed"
	// InspectionUndecided: it was measured, or could not be, and that says nothing of the machine.
	InspectionUndecided = "undecided"
	// InspectionMissed: the lease was over before the second came.
	InspectionMissed = "missed"
)

// Inspection is what measuring a lease's machine while its job runs has found, for a customer who has asked for that with the
// order.
type Inspection struct {
	State     string `json:"state" enum:"due,spared,passed,failed,undecided,missed" doc:"due: at a random second that is to come. spared: auto has not drawn the lease. failed: the machine does not pass, and its lease is ended. undecided: nothing is known of the machine, such as where the job has left it no memory. missed: the lease was over before"`
	At        int64  `json:"at,omitempty" doc:"When that was found, unix seconds"`
	Why       string `json:"why,omitempty" doc:"Why the machine has not passed"`
	TOPS      string `json:"tops,omitempty" doc:"10¹² int8 operations a second of the weakest GPU, beside the job"`
	Bandwidth string `json:"gigabytesPerSecond,omitempty"`
}

// Over reports whether nothing more is to come.
func (i *Inspection) Over() bool { return i.State != InspectionDue }

// Show takes the figures of a machine.
func (i *Inspection) Show(f measure.Figures) {
	if f.Operations > 0 {
		i.TOPS, i.Bandwidth = fmt.Sprintf("%.3g", f.Operations/1e12), fmt.Sprintf("%.3g", f.Bandwidth/1e9)
	}
}

// Inspections tells what is known of leases' inspections. It is safe for concurrent use.
type Inspections interface {
	// Of is the inspection of a lease, by its address; nil for one without.
	Of(lease string) *Inspection
}

// Inspected adds to leases what is known of their inspections, in place; without inspections nothing.
func Inspected(known Inspections, leases []Lease) []Lease {
	for i := range leases {
		if known != nil {
			leases[i].Inspection = known.Of(leases[i].Address)
		}
	}
	return leases
}
