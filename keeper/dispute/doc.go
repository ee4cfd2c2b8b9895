// Package dispute has a keeper judge disputes by itself: by its own signed statements about the lease and by what the
// chain shows of a redundant job's outputs. Judge is a pure function; where it cannot know, the keeper abstains, and its
// operator may vote with the command line.
//
// What the customer complains of is a file whose sha256 is on chain. Complaints takes it from whoever sends it while the
// dispute is open, keeps it on disk, and gives it to other keepers. A dispute whose complaint nobody can read is never
// upheld.
//
// An upheld dispute can be appealed: a keeper that judges otherwise, by what it has learned since, signs a statement
// about the lease's output and brings it to the chain.
package dispute
