// Package clock is the time of the market: the chain's time. The program judges every deadline by the chain's clock. So
// keepers, machines, gateways and customers compare deadlines with that clock. They do not use the date of their
// computer, which may be an hour off.
//
// A [Clock] reads the chain's time from time to time. Between two readings it counts with the monotonic clock of the
// machine, which nobody can set. So neither a changed date nor an RPC outage moves it.
//
// RPC endpoints may be wrong, late or hostile:
//   - A time that does not advance is not believed: the clock continues to count.
//   - A jump of more than some seconds is believed after two readings, and only when the machine's date or a second
//     endpoint confirms it. One endpoint alone must repeat it for [Patience].
//   - [Clock.Confirmed] never relies on one endpoint alone. Jobs end by it.
//   - [Clock.Cautious] is hardly later than the machine's own date. Bids are shown by it.
package clock
