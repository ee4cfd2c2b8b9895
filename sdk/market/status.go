package market

import (
	"fmt"
	"strings"
)

// NodeStatus says whether a machine takes work.
type NodeStatus uint8

// The statuses of a node.
const (
	NodeActive     NodeStatus = 1
	NodeHibernated NodeStatus = 2 // asleep: not awarded, not challenged
	NodeDraining   NodeStatus = 3 // serves what it has, takes nothing new
	NodeRetired    NodeStatus = 4 // leaving for good
	NodeSuspended  NodeStatus = 5 // a report says that the machine is not what it claims
)

// KeeperStatus says whether a keeper's weight counts.
type KeeperStatus uint8

// The statuses of a keeper.
const (
	KeeperPending KeeperStatus = 1
	KeeperActive  KeeperStatus = 2
	KeeperExiting KeeperStatus = 3
	KeeperSlashed KeeperStatus = 4 // expelled: it equivocated
)

// Dialled reports whether others connect to such a keeper at its address on chain. One that was never active connects to
// them: anybody can bond, and name an address that is not its own.
func (s KeeperStatus) Dialled() bool { return s == KeeperActive || s == KeeperExiting }

// OrderStatus says what an order waits for.
type OrderStatus uint8

// The statuses of an order.
const (
	OrderOpen    OrderStatus = 1 // waits for awards
	OrderAwarded OrderStatus = 2 // every node it wanted is awarded
	OrderExpired OrderStatus = 3 // its time to be awarded passed; leases that it has may only be aborted
	OrderLapsed  OrderStatus = 4 // a lease of it was aborted because its node did not start
)

// LeaseStatus says where a lease is in its life.
type LeaseStatus uint8

// The statuses of a lease.
const (
	LeaseAwarded LeaseStatus = 1 // the node is chosen and has not started
	LeaseRunning LeaseStatus = 2
	LeaseFailed  LeaseStatus = 3 // a final report says that the node was gone for too long; anyone may end the lease
	LeaseEnded   LeaseStatus = 4 // over; last claims may still be settled
)

// EndReason says why a lease is over.
type EndReason uint8

// The reasons.
const (
	EndedByCustomer EndReason = 1
	EndedByProvider EndReason = 2
	EndedUnfunded   EndReason = 3
	EndedFailed     EndReason = 4
	EndedJobDone    EndReason = 5
)

// DeclineReason says why a node declined a lease before its start.
type DeclineReason uint8

// The reasons.
const (
	DeclinedJob   DeclineReason = 1
	DeclinedImage DeclineReason = 2
	DeclinedLate  DeclineReason = 3
	DeclinedPrice DeclineReason = 4
	DeclinedApart DeclineReason = 5
)

// ReportStatus says whether a report is final.
type ReportStatus uint8

// The statuses of a report.
const (
	ReportOpen  ReportStatus = 1
	ReportFinal ReportStatus = 2
)

// SettleSource says what moved a lease's paid-for seconds.
type SettleSource uint8

// The sources.
const (
	SourceReceipt SettleSource = 1
	SourceReport  SettleSource = 2
)

// Interconnect is how a machine's GPUs are connected; a higher class satisfies a lower one.
type Interconnect uint8

// The classes.
const (
	PCIe     Interconnect = 0
	NVLink   Interconnect = 1
	NVSwitch Interconnect = 2
)

// Isolation is how a node keeps jobs from the machine and from each other; a higher one satisfies a lower one.
type Isolation uint8

// The isolations.
const (
	// Process: jobs are processes of the machine, which only local networks run.
	Process Isolation = 0
	// Sandbox: jobs are containers, made from an image, in a sandbox with a kernel of its own.
	Sandbox Isolation = 1
	// Volumes: such containers may have encrypted volumes too.
	Volumes Isolation = 2
)

var (
	nodeStatusNames   = [...]string{1: "active", "hibernated", "draining", "retired", "suspended"}
	keeperStatusNames = [...]string{1: "pending", "active", "exiting", "expelled"}
	orderStatusNames  = [...]string{1: "open", "awarded", "expired", "lapsed"}
	leaseStatusNames  = [...]string{1: "awarded", "running", "failed", "ended"}
	endReasonNames    = [...]string{0: "not ended", "by customer", "by provider", "funds used up", "node failed", "job done"}
	declineNames      = [...]string{
		1: "the job cannot run there", "the image did not arrive in time", "the job came later than the ordered time would have taken",
		"the price fell below the machine's ask", "it has no direct connection with the other machines of the order",
	}
	reportStatusNames = [...]string{1: "open", "final"}
	sourceNames       = [...]string{1: "receipt", "report"}
	interconnectNames = [...]string{0: "PCIe", "NVLink", "NVSwitch"}
	isolationNames    = [...]string{0: "process", "sandbox", "volumes"}
)

// name looks a number up; an unknown one is shown, never hidden.
func name(names []string, kind string, n uint8) string {
	if int(n) < len(names) && names[n] != "" {
		return names[n]
	}
	return fmt.Sprintf("%s %d", kind, n)
}

func (s NodeStatus) String() string    { return name(nodeStatusNames[:], "status", uint8(s)) }
func (s KeeperStatus) String() string  { return name(keeperStatusNames[:], "status", uint8(s)) }
func (s OrderStatus) String() string   { return name(orderStatusNames[:], "status", uint8(s)) }
func (s LeaseStatus) String() string   { return name(leaseStatusNames[:], "status", uint8(s)) }
func (r EndReason) String() string     { return name(endReasonNames[:], "reason", uint8(r)) }
func (r DeclineReason) String() string { return name(declineNames[:], "reason", uint8(r)) }
func (s ReportStatus) String() string  { return name(reportStatusNames[:], "status", uint8(s)) }
func (s SettleSource) String() string  { return name(sourceNames[:], "source", uint8(s)) }
func (i Interconnect) String() string  { return name(interconnectNames[:], "class", uint8(i)) }

func (i Isolation) String() string { return name(isolationNames[:], "isolation", uint8(i)) }

// ParseNodeStatus reads a status that a provider may set: active, hibernated or draining.
func ParseNodeStatus(s string) (NodeStatus, error) {
	for _, st := range []NodeStatus{NodeActive, NodeHibernated, NodeDraining} {
		if strings.EqualFold(strings.TrimSpace(s), st.String()) {
			return st, nil
		}
	}
	return 0, fmt.Errorf("%q is not a status; use active, hibernated or draining", s)
}

// ParseIsolation reads an isolation by its name, in any case.
func ParseIsolation(s string) (Isolation, error) {
	for n, known := range isolationNames {
		if strings.EqualFold(strings.TrimSpace(s), known) {
			return Isolation(n), nil
		}
	}
	return 0, fmt.Errorf("%q is not an isolation; use process, sandbox or volumes", s)
}

// ParseInterconnect reads a class by its name, in any case.
func ParseInterconnect(s string) (Interconnect, error) {
	for n, known := range interconnectNames {
		if strings.EqualFold(strings.TrimSpace(s), known) {
			return Interconnect(n), nil
		}
	}
	return 0, fmt.Errorf("%q is not an interconnect; use pcie, nvlink or nvswitch", s)
}
