// Package measure is the format of the check that measures a machine: how many int8 operations a second its GPUs make,
// how much memory they have, and how fast they reach it. docs/protocol/measurement.md fixes every byte and says what
// each part is for; this package is that page in plain Go, and what verifiers use.
//
// A [Profile] says what is asked, a [Place] of whom. From both follow the seeds of a chain of products, whose roots the
// machine sends as rounds end; the products stay in memory, through which a dependent walk goes. The machine signs a
// [Commitment] to both, and opens what a [Draw] names.
package measure
