package market

import (
	"github.com/gantry-market/gantry/sdk/records"
)

// LeaseReceipt is the receipt of the lease for cumulative seconds, ready to be signed.
func LeaseReceipt(l Lease, sequence, seconds uint64) records.Receipt {
	return records.Receipt{Domain: records.Domain(l.Domain), Lease: l.Address, StartedAt: l.StartedAt, Sequence: sequence, Cumulative: seconds}
}
