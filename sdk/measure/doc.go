// Package measure is the side of a measurement that asks: it has a machine run it, notes by its own clock when roots and
// commitment come, draws what is opened, verifies it, and says what became of it. Keepers ask so at the period's instant
// (keeper/measure), a lease's customer at an instant of its own. docs/protocol/measurement.md says what is computed,
// docs/adr/0026-measuring.md who asks and what is judged.
//
// The outcome is one of four. Every doubt that the network or the one who asks may be the cause of is Unknown.
package measure
