// Package measure is the format of the check that measures a machine: how many int8 operations its GPUs do in a second,
// how much memory they have, and how fast they reach it. docs/protocol/measurement.md fixes every byte and explains
// each part. This package is that page in plain Go; verifiers use it.
//
// A [Profile] defines what is asked, a [Place] defines which machine is asked. Both together determine the seeds of a
// chain of matrix products. The machine sends the root of each round's product when the round ends. The products stay
// in memory, and a walk of dependent accesses reads them. The machine signs a [Commitment] to both the products and the
// walk, and opens the parts that a [Draw] selects.
package measure
